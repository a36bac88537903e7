"""Build `evals/extraction/common_names.txt.gz`, the names that are too common to be references.

    python .ci/build_common_names.py [--pypi pypi.tsv] [--npm npm.tsv]

What goes in, and nothing else:

- Python: keywords, builtins and their public attributes, every module of
  `sys.stdlib_module_names` that imports without side effects, its public names (plain and
  dotted, as in `os.path.join`) and the public attributes of its classes. All are read from the
  interpreter that runs this script (3.11), so that nothing is copied from documentation.
- Text encodings that Python knows, with hyphens too: they are values, as in `encoding=utf-8`.
- JavaScript and TypeScript, Go, Rust, Java, shell, test tools, words of agent tools, product
  names in mixed case, usual files and folders: the tables `WORDS`, `NAMES` and `FILES` below,
  written by hand. A name that ends in `/` is a folder whose whole content is common.
- Packages: the most downloaded of two tab-separated lists (columns `name, version, month, rank,
  summary` and `name, version, downloads, summary`). Names only; without the options the
  packages that the present list already has are kept (they stand under the line `# packages`).

Only what `evals.extraction.references` could extract is kept: snake_case, camelCase, dotted names,
names with a slash, file names, and plain words (they are the parts of a dotted name). After a
change raise `COMMON_NAMES_VERSION` in `evals/extraction/common_names.py`: stored needs depend on
the list.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import gzip
import importlib
import io
import keyword
import re
import sys
import warnings
from collections.abc import Iterator
from encodings.aliases import aliases
from pathlib import Path

TARGET = Path(__file__).parents[1] / "evals" / "extraction" / "common_names.txt.gz"
PACKAGES_HEADER = "# packages"
MAX_PACKAGES = 3000
"""Of each registry."""

SKIPPED_MODULES = {"antigravity", "this", "idlelib", "test", "turtledemo", "lib2to3", "turtle"}
SUBMODULES = (
    "os.path collections.abc concurrent.futures importlib.metadata importlib.resources "
    "importlib.util email.message email.utils http.client http.server http.cookies json.decoder "
    "logging.config logging.handlers multiprocessing.pool unittest.mock urllib.error urllib.parse "
    "urllib.request xml.dom.minidom xml.etree.ElementTree xml.sax.saxutils asyncio.subprocess "
    "ctypes.util curses.ascii dbm.dumb encodings.utf_8 wsgiref.simple_server xmlrpc.client"
)

WORDS = """
abort abs accept access account action actions active add added additions adapter addr address
agent agents alert align all alias allow amount and anchor any api app append apply apps arch
archive area arg args argument arguments argv arity array arrays arrow as assert asset assets
assign assistant async at atom attempt attempts attr attribute attributes attrs audio auth
author auto await axis back background backend bar base bash basename batch before begin bench
bin binary bind bit bits blob block blocks blog blur body bold book bool boolean border bot
bottom boundary box branch branches break bucket buffer bug build builder bundle button by byte
bytes cache call callback callbacks called caller calls cancel card cardinality case cases cast
cat catch category cause cb cell cells center chain change changed changelog changes channel
char chars chat check checks child children choice choices chunk chunks class classes clean
clear cli click client clone close closed cls cluster cmd co code codes col collapse collect
collection color colors column columns com combine command commands comment comments commit
commits common compact company compare compile compiler complete completion component components
compute con concat concept config configs configuration configure confirm conn connect
connection console const constant constants construct constructor contain container contains
content contents context continue control controller convert cookie cookies copy core cost count
counter counts cpu create created creator credentials css csv ctx cur current cursor custom cut
cwd cycle daemon data database date datetime day days db deal debug decode decoder def default
defaults define del delay delete deleted deletions delta demo deploy depth desc description
design dest detail details dev device df dialog dict diff digest dim dir direction directory
dirname dirs disable disabled disk dispatch display dist div do doc docker docs document
documents dom domain done dot down download draft draw drop dtype dump duration each echo edge
edges edit editor effect el elem element elements elif else email emit empty en enable enabled
encode encoder encoding end endpoint endpoints ends engine enter entity entries entry enum env
environment epoch eq equal equals err error errors escape eval event events every ex example
examples except exception exceptions exclude exec executable execute executor exists exit expand
expect expected experimental expires explain export exports expr expression ext extend extends
extension extensions external extra extract fail failed failure failures false fetch field
fields file filename filepath files fill filter filters final finally find finish finished first
fit fix fixed fixture flag flags flat flatten flex float floor flow flush fmt fn focus fold
folder folders font foo footer for force forEach fork form format formatted formatter forms
forward found frame frames framework free freeze from front full fullName func function
functions future gap gateway gen generate generated generator get getter git given glob global
globals go goal grammar graph green grid group groups grow guard guide hand handle handler
handlers has hash head header headers heading height help helper helpers hidden hide history
hook hooks host hostname hour hours hover href html http https icon id identifier idle ids idx
if ignore image images img impl implementation import imports in include includes indent index
indexes indices info information init initial initialize inline inner input inputs insert
insertion inspect install instance instances instruction instructions int integer integration
interface internal interval into invalid invoke io ip is issue issues it item items iter
iterator java job jobs join js json keep kernel key keyboard keys keyword keywords kill kind
kwargs label labels lambda lang language last lastIndex latest latex layer layers layout lazy
leaf left len length let level levels lib library license like limit limits line linear lines
link links lint list listen listener listeners lists literal live load loaded loader local
locale location lock log logger logging login logo logs long loop loops low lower ls machine
main make manager manifest map mapper mapping maps margin mark marker markdown mask master match
matched matcher matches math matrix max md me mean measure media member members memory menu
merge merged message messages meta metadata method methods metric metrics middleware migration
min minute minutes mkdir mock mocks mod modal mode model models modified modify module modules
monitor month mount mouse move ms multi mut mutate mutex my name named names namespace nan
native nav navigate navigation nested net network new next nil no node nodes none normal
normalize not note notes notify now np null nullable num number numbers numeric obj object
objects of off offset ok old on once only op open operation operations operator operators opt
option optional options opts or order org org origin os other out outer output outputs over
overflow override overview owner package packages padding page pages pair pairs pan panel panic
param parameter parameters params parent parse parsed parser part parts pass passed password
patch path paths pattern patterns payload pd peek pending percent perform permission permissions
phase pi pick pid pipe pipeline pixel pkg place placeholder plan platform play player plot plt
plugin plugins point pointer points policy poll pool pop port ports pos position post posts pr
prefix prepare press pretty prev preview previous price primary print private process processor
processes product profile program progress project projects promise prompt prompts prop
properties property props protected protocol provider providers proxy ps pub public publish pull
push put py python queries query queue quiet quit quote radius raise random range rank rate
ratio raw re reach read reader readme ready real reason receive recent record records recursive
red redirect reduce ref reference references refresh refs regex region register registry reject
relative release reload remaining remote remove removed render renderer repeat replace reply
repo report reports repository req request requests require required requires res reserve reset
reshape resize resolve resolved resource resources resp response responses rest restart restore
result results resume retries retry return returned returns reverse review right role roles root
roots rotate round route router routes row rows rule rules run runner running runs runtime rust
safe sample samples save scale scan schema schemas scheme scope score scores screen script
scripts scroll sdk search second seconds secret secrets section sections seed seek segment
select selected selection selector self send sender separator seq sequence serial serialize
server service services session sessions set setter setting settings setup sh shape share shared
shell shift short show shuffle shutdown side sidebar signal signature signals silent simple
since site size sizes skill skills skip skipped sleep slice slot slots slug small snapshot
snippet socket some sort sorted source sources space span spec specs speed split splice src
stack stage start started state statement states static stats status stderr stdin stdout step
steps stop storage store stores str strategy stream streaming strict string strings strip struct
structure style styles stylesheet sub subject submit subprocess subscribe substr substring
success suffix suite sum summary super support svg switch sync syntax sys system tab table
tables tag tags tail take target targets task tasks team template templates temp term terminal
test tests testing text texts tf theme then this thread threads through throw time timeout timer
times timestamp timezone title tmp to toggle token tokens tool tools tooltip top topic torch
total totals touch trace track trait transaction transform transition translate tree trigger
trim trip true try ts tuple turn turns txt type types ui uid unary undefined union unique unit
units unknown unsafe until up update updated updates upgrade upload upper uri url urls usage use
used user username users util utilities utility utils uuid val valid validate validation
validator value values var variable variables variant vec vector vectors vendor verbose verify
version versions view viewport views virtual visible visit void wait walk warn warning warnings
watch watcher web webhook weight weights when where while white width window with word words
work worker workers workflow workspace world wrap wrapper write writer xml yaml yellow yield yml
zero zip zone zoom
"""

NAMES = """
addEventListener removeEventListener dispatchEvent getElementById getElementsByClassName
getElementsByTagName querySelector querySelectorAll createElement createTextNode appendChild
removeChild insertBefore replaceChild cloneNode getAttribute setAttribute removeAttribute
classList className innerHTML innerText textContent outerHTML parentNode parentElement
childNodes firstChild lastChild nextSibling previousSibling nodeName nodeType nodeValue tagName
preventDefault stopPropagation currentTarget clientX clientY clientWidth clientHeight
offsetWidth offsetHeight offsetTop offsetLeft scrollTop scrollLeft scrollHeight scrollWidth
scrollTo scrollIntoView innerWidth innerHeight getBoundingClientRect getComputedStyle
requestAnimationFrame localStorage sessionStorage setItem getItem removeItem setTimeout
clearTimeout setInterval clearInterval setImmediate queueMicrotask structuredClone parseInt
parseFloat isNaN isFinite toString toFixed toUpperCase toLowerCase toLocaleString toISOString
toLocaleDateString toJSON valueOf charAt charCodeAt codePointAt fromCharCode fromCodePoint
indexOf lastIndexOf startsWith endsWith trimStart trimEnd padStart padEnd replaceAll matchAll
localeCompare forEach findIndex findLast findLastIndex flatMap reduceRight copyWithin
fromEntries hasOwn hasOwnProperty isPrototypeOf defineProperty defineProperties
getOwnPropertyNames getOwnPropertyDescriptor getPrototypeOf setPrototypeOf isArray isInteger
isSafeInteger isFrozen preventExtensions encodeURIComponent decodeURIComponent encodeURI
decodeURI getTime getFullYear getMonth getDate getDay getHours getMinutes getSeconds setDate
getTimezoneOffset allSettled readFile readFileSync writeFile writeFileSync appendFile
appendFileSync existsSync mkdirSync readdirSync statSync lstatSync unlinkSync rmSync rmdirSync
copyFileSync renameSync accessSync mkdtempSync chmodSync createReadStream createWriteStream
readdir withFileTypes isDirectory isFile isSymbolicLink fileURLToPath pathToFileURL execSync
execFile execFileSync spawnSync childProcess child_process worker_threads async_hooks
randomBytes randomUUID createHash createHmac createServer createInterface nextTick
removeListener removeAllListeners eventEmitter EventEmitter statusCode statusText setHeader
getHeader writeHead contentType bodyParser useState useEffect useRef useMemo useCallback
useContext useReducer useLayoutEffect useImperativeHandle createContext forwardRef createRoot
defaultProps displayName propTypes onClick onChange onSubmit onKeyDown onKeyUp onFocus onBlur
onMouseEnter onMouseLeave onError onClose onOpen onSuccess onSelect onScroll onLoad defaultValue
autoFocus htmlFor tabIndex dangerouslySetInnerHTML strokeWidth strokeLinecap strokeLinejoin
fillRule clipRule viewBox backgroundColor fontSize fontWeight fontFamily lineHeight textAlign
borderRadius flexDirection justifyContent alignItems zIndex maxWidth minWidth maxHeight
minHeight boxShadow marginTop marginBottom paddingTop paddingBottom ReactNode ReactElement
HTMLElement HTMLInputElement HTMLDivElement HTMLButtonElement KeyboardEvent MouseEvent
CustomEvent AbortController AbortSignal FormData XMLHttpRequest WebSocket TextEncoder
TextDecoder ArrayBuffer SharedArrayBuffer Uint8Array Uint16Array Uint32Array Int8Array
Int16Array Int32Array Float32Array Float64Array BigInt DataView WeakMap WeakSet WeakRef
TypeError RangeError SyntaxError ReferenceError EvalError URIError AggregateError instanceof
typeof readonly keyof ReturnType PropertyKey NonNullable ReadonlyArray PromiseLike ArrayLike
AsyncIterable AsyncGenerator AsyncIterator IterableIterator ReadableStream WritableStream
URLSearchParams searchParams hostName pathName beforeEach afterEach beforeAll afterAll toBe
toEqual toStrictEqual toBeDefined toBeUndefined toBeNull toBeTruthy toBeFalsy toContain
toContainEqual toHaveLength toHaveProperty toMatch toMatchObject toMatchSnapshot
toMatchInlineSnapshot toThrow toThrowError toBeCloseTo toBeGreaterThan toBeGreaterThanOrEqual
toBeLessThan toBeLessThanOrEqual toBeInstanceOf toHaveBeenCalled toHaveBeenCalledWith
toHaveBeenCalledTimes toHaveBeenLastCalledWith stringContaining objectContaining arrayContaining
mockReturnValue mockResolvedValue mockRejectedValue mockImplementation mockReturnValueOnce
mockResolvedValueOnce clearAllMocks resetAllMocks restoreAllMocks spyOn useFakeTimers
useRealTimers mockClear mockReset mockRestore compilerOptions outDir rootDir baseUrl
esModuleInterop skipLibCheck forceConsistentCasingInFileNames resolveJsonModule moduleResolution
isolatedModules noEmit strictNullChecks sourceMap declarationMap devDependencies
peerDependencies optionalDependencies import.meta import.meta.url import.meta.env module.exports
process.env process.argv process.exit process.cwd process.stdout process.stderr process.stdin
process.platform process.env.NODE_ENV console.log console.error console.warn console.info
console.debug NODE_ENV res.json req.json response.json req.body req.params req.query res.send
res.status e.target e.message e.key Promise.all Promise.resolve Promise.reject Promise.race
JSON.parse JSON.stringify Object.keys Object.values Object.entries Object.assign
Object.fromEntries Array.from Array.isArray Math.max Math.min Math.floor Math.ceil Math.round
Math.random Math.abs Math.log Date.now Number.isFinite React.FC React.useState React.ReactNode
z.object z.string z.number z.array fmt.Println fmt.Printf fmt.Sprintf fmt.Errorf fmt.Fprintf
fmt.Fprintln fmt.Print fmt.Stringer errors.New errors.Is errors.As context.Context
context.Background context.TODO context.WithTimeout context.WithCancel context.WithValue
context.WithDeadline time.Duration time.Second time.Now time.Since time.Sleep time.Time
time.Millisecond time.RFC3339 time.Parse os.Args os.Exit os.Open os.Create os.ReadFile
os.WriteFile os.MkdirAll os.Stat os.Remove os.RemoveAll os.Getenv os.Stdout os.Stderr os.Stdin
os.IsNotExist os.Getwd os.ReadDir os.MkdirTemp os.Chdir os.FileMode os.File os.Rename
os.ModePerm os.ErrNotExist filepath.Join filepath.Base filepath.Dir filepath.Abs filepath.Ext
filepath.Walk filepath.WalkDir filepath.Rel filepath.Clean filepath.FromSlash filepath.Glob
filepath.Match strings.Split strings.Join strings.Contains strings.HasPrefix strings.HasSuffix
strings.TrimSpace strings.Trim strings.TrimPrefix strings.TrimSuffix strings.Replace
strings.ReplaceAll strings.ToLower strings.ToUpper strings.Builder strings.Repeat strings.Fields
strings.Index strings.NewReader strings.EqualFold strings.SplitN strings.TrimRight
strings.TrimLeft strings.Count strings.LastIndex strconv.Itoa strconv.Atoi strconv.ParseInt
strconv.Quote strconv.FormatInt bytes.Buffer bytes.NewReader bufio.NewReader bufio.NewScanner
bufio.Scanner json.Marshal json.Unmarshal json.MarshalIndent json.NewDecoder json.NewEncoder
json.RawMessage io.Reader io.Writer io.ReadAll io.Copy io.EOF io.Discard sync.Mutex sync.RWMutex
sync.WaitGroup sync.Once http.Get http.Request http.ResponseWriter http.Handler http.HandlerFunc
http.StatusOK http.Client http.Error http.NewRequest sort.Slice sort.Strings regexp.MustCompile
regexp.Compile exec.Command exec.CommandContext exec.LookPath log.Printf log.Println log.Fatal
log.Fatalf slog.Info slog.Error slog.Debug slog.Warn slog.String slog.Any testing.T testing.B
testing.M reflect.DeepEqual t.Helper t.Fatal t.Fatalf t.Error t.Errorf t.Run t.Log t.Logf t.Skip
t.TempDir t.Parallel t.Cleanup t.Setenv t.Context t.Chdir b.Loop b.N WriteString ReadString
interface{} MarshalJSON UnmarshalJSON HasPrefix HasSuffix TrimSpace Println Printf Sprintf
Errorf Fprintf Fatalf MkdirAll ReadFile WriteFile ReadAll TempDir RunE PersistentFlags RemoveAll
CombinedOutput unwrap unwrap_or unwrap_or_else unwrap_or_default expect_err is_some is_none
is_ok is_err map_err and_then or_else ok_or ok_or_else as_ref as_mut as_str as_bytes as_slice
as_deref to_string to_owned to_vec into_iter iter_mut collect filter_map flat_map find_map
take_while skip_while step_by for_each is_empty push_str with_capacity from_str from_utf8
from_utf8_lossy to_lowercase to_uppercase starts_with ends_with trim_start trim_end
split_whitespace split_once strip_prefix strip_suffix parse_from_str read_to_string read_dir
create_dir_all remove_dir_all remove_file write_all read_line current_dir set_var var_os PathBuf
HashMap HashSet BTreeMap BTreeSet VecDeque RefCell RwLock PhantomData FromStr IntoIterator
DoubleEndedIterator ExactSizeIterator PartialEq PartialOrd println eprintln format_args vec
macro_rules assert_eq assert_ne debug_assert unimplemented unreachable include_str cfg_attr
allow_unused dead_code unused_variables serde_json SystemTime OsString CString async_trait
proc_macro no_std usize isize java.util java.io java.lang java.util.List java.util.Map
java.util.HashMap java.util.ArrayList java.lang.String System.out System.out.println
System.err.println ArrayList HashMap LinkedList LinkedHashMap TreeMap StringBuilder StringBuffer
IOException FileNotFoundException NullPointerException IllegalArgumentException
IllegalStateException IndexOutOfBoundsException RuntimeException ClassNotFoundException
InterruptedException UnsupportedOperationException ConcurrentHashMap AtomicInteger
CompletableFuture ExecutorService InputStream OutputStream BufferedReader BufferedWriter
InputStreamReader FileReader FileWriter BigDecimal LocalDate LocalDateTime hashCode
equalsIgnoreCase getClass getName getValue setValue getKey getMessage printStackTrace isEmpty
containsKey getOrDefault putIfAbsent computeIfAbsent orElse orElseThrow isPresent ifPresent
toArray toList FunctionalInterface SuppressWarnings SafeVarargs std::string std.string cout endl
push_back emplace_back unique_ptr shared_ptr make_unique make_shared string_view unordered_map
size_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t static_cast
dynamic_cast reinterpret_cast const_cast c_str nullptr_t LD_LIBRARY_PATH PYTHONPATH VIRTUAL_ENV
BASH_SOURCE XDG_CONFIG_HOME DEBIAN_FRONTEND SSH_AUTH_SOCK GITHUB_TOKEN GITHUB_OUTPUT GITHUB_ENV
GITHUB_WORKSPACE NO_COLOR FORCE_COLOR OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY AWS_REGION
AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY DATABASE_URL set_option apt_get xargs_opts dev_null
pip_install TestCase assertTrue assertFalse assertEqual assertRaises setUp tearDown setUpClass
tearDownClass parametrize monkeypatch tmp_path capsys caplog pytest.mark pytest.mark.parametrize
pytest.fixture pytest.raises pytest.skip pytest.mark.skipif pytest.mark.asyncio pytest.approx
unittest.mock MagicMock AsyncMock side_effect return_value assert_called_once
assert_called_once_with assert_called_with call_args sys_path torch.nn torch.Tensor torch.tensor
torch.no_grad np.array np.ndarray np.zeros np.ones np.float32 np.float64 np.int64 np.random
np.mean np.nan np.linalg pd.DataFrame pd.Series pd.read_csv pd.to_datetime plt.show plt.plot
plt.figure plt.subplots plt.savefig nn.Module nn.Linear DataFrame BaseModel BaseSettings
field_validator model_validator model_dump model_dump_json model_validate from_attributes
HTTPException FastAPI APIRouter status_code response_model render_template url_for
models.CharField models.ForeignKey models.TextField models.IntegerField models.DateTimeField
models.BooleanField on_delete related_name max_length auto_now auto_now_add null_true
makemigrations django.db django.db.models django.contrib django.conf django.urls django.http
django.shortcuts file_path filePath old_string new_string oldString newString oldText newText
old_str new_str tool_use tool_result tool_use_id tool_calls tool_call_id toolCall toolCallId
toolCalls toolResult toolName tool_name tool_choice tool_input tool_output function_call
function_calls input_tokens output_tokens total_tokens inputTokens outputTokens totalTokens
max_tokens maxTokens prompt_tokens completion_tokens cache_read_input_tokens
cache_creation_input_tokens cache_control cacheRead cacheWrite stop_reason stopReason
finish_reason is_error isError exit_code exitCode exit_status additionalProperties oneOf anyOf
allOf minLength maxLength maxItems minItems enumValues active_form activeForm in_progress
replace_all replaceAll run_in_background subagent_type str_replace str_replace_editor
str_replace_based_edit_tool view_range insert_line file_text output_mode head_limit TodoWrite
TodoRead MultiEdit NotebookEdit WebFetch WebSearch BashOutput KillShell KillBash ExitPlanMode
EnterPlanMode AskUserQuestion TaskCreate TaskUpdate TaskList TaskOutput apply_patch update_plan
shell_command read_file write_file list_dir grep_search web_search file_search code_interpreter
structuredPatch originalFile oldStart newStart oldLines newLines userModified numLines startLine
totalLines numFiles start_line end_line startIndex endIndex lineNumber line_number lineCount
fileName file_name fileNames dirName folderName baseName absolutePath relativePath absolute_path
relative_path system_prompt systemPrompt user_id userId session_id sessionId request_id
requestId message_id messageId created_at createdAt updated_at updatedAt deleted_at first_name
firstName last_name lastName full_name display_name api_key apiKey base_url access_token
accessToken refresh_token client_id client_secret model_name modelName default_value
error_message errorMessage errorCode error_code return_code returncode is_valid isValid
is_active isActive is_empty isLoading has_more page_size pageSize start_time startTime end_time
endTime start_date end_date date_time time_stamp num_lines max_retries maxRetries timeout_ms
timeoutMs new_name old_name new_value old_value my_function myFunction foo_bar fooBar
some_function hello_world helloWorld HelloWorld to_dict from_dict to_json from_json JavaScript
TypeScript GitHub GitLab BitBucket CoffeeScript OpenAI ChatGPT DeepSeek YouTube LinkedIn
PostgreSQL MySQL SQLite MongoDB DynamoDB GraphQL NodeJS NextJS VueJS ReactJS AngularJS ExpressJS
Node.js Next.js Vue.js React.js Express.js Three.js D3.js Nuxt.js macOS iOS iPhone iPad
WordPress PowerShell DevOps JetBrains IntelliJ PyCharm WebStorm VSCode VSCodium PyTorch
TensorFlow NumPy SciPy LangChain LangGraph LlamaIndex OpenTelemetry CircleCI RedHat CentOS
FreeBSD OpenBSD WebKit WebAssembly WebGL DuckDuckGo StackOverflow FastMCP PlayStation YAMLError
README.md e.g. i.e. etc. xmlns available economy business gray grey black orange purple cyan
magenta center bold italic normal hidden auto none visible enabled disabled pending completed
success failed running McDonald JUnit TestNG NuGet pnpm MacBook AirBnB DocBook LaTeX BibTeX SaaS
PaaS OAuth OAuth2 JSDoc GoDoc PyPI WiFi README_FILE HuggingFace OpenRouter ESLint TSLint
ESModule CommonJS CodeQL DataDog BigQuery SageMaker CloudFront CloudWatch CloudFormation
EventBridge VirtualBox AppImage
"""

FILES = """
README.md README.rst README.txt README CHANGELOG.md CONTRIBUTING.md LICENSE.md LICENSE.txt
SECURITY.md CODE_OF_CONDUCT.md AGENTS.md CLAUDE.md GEMINI.md SKILL.md TODO.md MEMORY.md Makefile
Dockerfile docker-compose.yml docker-compose.yaml compose.yaml package.json package-lock.json
pnpm-lock.yaml pnpm-workspace.yaml yarn.lock bun.lock tsconfig.json tsconfig.build.json
jsconfig.json vite.config.ts vite.config.js vitest.config.ts jest.config.js jest.config.ts
webpack.config.js rollup.config.js next.config.js next.config.mjs next.config.ts
tailwind.config.js tailwind.config.ts postcss.config.js postcss.config.mjs babel.config.js
eslint.config.js eslint.config.mjs eslint.config.ts biome.json turbo.json nx.json lerna.json
components.json settings.json settings.local.json launch.json tasks.json extensions.json
config.json config.yaml config.yml config.toml config.py config.ts config.js data.json index.ts
index.js index.tsx index.jsx index.html index.css index.mjs index.md main.ts main.js main.py
main.go main.rs main.c main.cpp main.tsx main.java app.py app.js app.ts App.tsx App.jsx App.js
App.css app.css server.js server.ts server.py client.ts client.py utils.ts utils.js utils.py
helpers.ts helpers.py types.ts types.py types.go constants.ts constants.py models.py views.py
urls.py admin.py apps.py forms.py tests.py serializers.py manage.py wsgi.py asgi.py settings.py
conftest.py setup.py setup.cfg pyproject.toml requirements.txt requirements-dev.txt Pipfile.lock
poetry.lock uv.lock tox.ini pytest.ini mypy.ini ruff.toml noxfile.py environment.yml __init__.py
__main__.py __version__.py cli.py cli.ts cli.js test.py test.js test.ts test.sh run.sh build.sh
setup.sh install.sh script.py script.sh example.py Cargo.toml Cargo.lock build.rs lib.rs mod.rs
go.mod go.sum go.work doc.go main_test.go pom.xml build.gradle build.gradle.kts settings.gradle
gradle.properties CMakeLists.txt Gemfile.lock composer.json composer.lock style.css styles.css
globals.css global.css layout.tsx page.tsx page.ts route.ts loading.tsx error.tsx middleware.ts
next-env.d.ts vite-env.d.ts index.d.ts manifest.json favicon.ico robots.txt sitemap.xml ci.yml
ci.yaml release.yml .gitignore .gitattributes .gitmodules .dockerignore .npmrc .nvmrc .env
.env.local .env.example .env.production .eslintrc.json .eslintrc.js .prettierrc .prettierrc.json
.editorconfig .bashrc .zshrc .profile .bash_profile .pre-commit-config.yaml .coveragerc .flake8
file.txt file.py file.ts file.js file.json file.md file.go test.txt output.txt input.txt foo.py
foo.ts foo.js foo.txt foo.go bar.py example.com example.org www.example.com
localhost.localdomain path/to/file path/to/file.py path/to/file.ts path/to/file.js
path/to/file.txt /path/to/file /path/to/file.py /path/to/file.ts /path/to/file.txt path/to/
/path/to/ ~/.bashrc ~/.zshrc ~/.profile ~/.config ~/.ssh ~/.npmrc ~/.gitconfig ~/.claude
~/.cache src/index.ts src/index.js src/main.ts src/main.tsx src/main.rs src/lib.rs src/main.py
src/App.tsx src/app.py src/types.ts src/utils.ts tests/__init__.py src/__init__.py
.github/workflows .github/workflows/ci.yml .vscode/settings.json .claude/settings.json
.claude/settings.local.json .git/config .git/HEAD .git/hooks node_modules/.bin /etc/passwd
/etc/hosts /etc/os-release /dev/null /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/urandom
/dev/zero /usr/bin/ /usr/local/bin/ /usr/sbin/ /usr/lib /usr/local /usr/share /usr/local/lib
/usr/include /bin/ /sbin/ /opt/homebrew /opt/homebrew/bin /var/log /var/lib /var/run
/var/folders /tmp/test /home/user /home/ubuntu /Users/user refs/heads refs/tags refs/remotes
refs/heads/main refs/heads/master origin/main origin/master origin/HEAD origin/develop
remotes/origin/main remotes/origin/HEAD and/or either/or client/server true/false yes/no on/off
read/write input/output N/A n/a fs/promises node/fs react/jsx-runtime react-dom/client next/link
next/image next/navigation next/router next/server next/head next/font/google next/headers
vitest/config encoding/json encoding/base64 encoding/hex net/http net/url os/exec os/signal
path/filepath io/ioutil io/fs text/template html/template crypto/rand crypto/sha256 crypto/md5
math/rand sync/atomic runtime/debug net/http/httptest unicode/utf8 go/ast go/parser log/slog
testing/fstest http://www.w3.org/ https://www.w3.org/ http://schemas.openxmlformats.org/
http://json-schema.org/ https://json-schema.org/ http://localhost https://example.com
https://example.com/ http://example.com https://github.com https://docs.python.org/
https://www.apache.org/licenses/LICENSE-2.0 http://www.apache.org/licenses/LICENSE-2.0
https://opensource.org/licenses/MIT github.com/spf13/cobra github.com/stretchr/testify
github.com/stretchr/testify/assert github.com/stretchr/testify/require github.com/google/uuid
github.com/gin-gonic/gin
"""


def module_names() -> Iterator[str]:
    """Names of the standard library that this interpreter can import quietly."""
    for name in sorted(sys.stdlib_module_names) + SUBMODULES.split():
        if not name.startswith("_") and name not in SKIPPED_MODULES:
            yield name


def names_of_module(name: str) -> Iterator[str]:
    """Yield the module, its public names plain and dotted, and the attributes of its classes."""
    yield from (name, name.rpartition(".")[2])
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            module = importlib.import_module(name)
            members = {key: getattr(module, key) for key in dir(module)}
    except ImportError:
        return
    for key, member in members.items():
        if key.startswith("_"):
            continue
        yield from (key, f"{name}.{key}", f"{name.rpartition('.')[2]}.{key}")
        if isinstance(member, type):
            public = [attribute for attribute in dir(member) if not attribute.startswith("_")]
            yield from public
            yield from (f"{key}.{attribute}" for attribute in public if key in vars(builtins))


def python_names() -> set[str]:
    """Keywords, builtins, dunder names and the standard library."""
    names = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "__main__", "__all__"}
    for builtin in vars(builtins).values():
        names.update(dir(builtin))
    for name in module_names():
        names.update(names_of_module(name))
    return names


def encoding_names() -> set[str]:
    """Return the names of text encodings as they are written, in small and in capital letters."""
    known = {
        name for pair in aliases.items() for name in pair if name[0].isalpha() and len(name) > 3
    }
    written = known | {name.replace("_", "-") for name in known}
    return written | {name.upper() for name in written}


def popular_packages(pypi: Path | None, npm: Path | None) -> set[str]:
    """Read the most downloaded names; a hyphen also stands as the underscore of the import."""
    names: set[str] = set()
    if pypi:
        rows = [line.split("\t") for line in pypi.read_text("utf-8").splitlines()[1:]]
        ranked = sorted((int(row[3]), row[0]) for row in rows if len(row) > 3 and row[3].isdigit())
        names.update(name for _, name in ranked[:MAX_PACKAGES])
    if npm:
        rows = [line.split("\t") for line in npm.read_text("utf-8").splitlines()[1:]]
        ranked = sorted((-int(row[2]), row[0]) for row in rows if len(row) > 2 and row[2].isdigit())
        names.update(name for _, name in ranked[:MAX_PACKAGES])
    return names | {name.replace("-", "_") for name in names}


def kept_packages() -> set[str]:
    """Return the packages of the present list, for a build without the two tables."""
    if not TARGET.exists():
        return set()
    lines = gzip.decompress(TARGET.read_bytes()).decode("utf-8").splitlines()
    return set(lines[lines.index(PACKAGES_HEADER) + 1 :])


def extractable(name: str) -> bool:
    """Tell whether the extractor could ever meet this name."""
    if not 2 <= len(name) <= 60 or re.search(r"[\s{}]", name):
        return False
    return re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", name) is None


def main() -> None:
    """Write the list: sorted names, then the packages that are in no other part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pypi", type=Path)
    parser.add_argument("--npm", type=Path)
    options = parser.parse_args()
    names = python_names() | {*WORDS.split(), *NAMES.split(), *FILES.split()}
    given = options.pypi or options.npm
    packages = popular_packages(options.pypi, options.npm) if given else kept_packages()
    first = sorted({*filter(extractable, names), *encoding_names()})
    second = sorted(filter(extractable, packages - names - {*first}))
    text = "\n".join([*first, PACKAGES_HEADER, *second]) + "\n"
    TARGET.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


if __name__ == "__main__":
    main()
