import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.extraction.common_names import (
    COMMON_NAMES_VERSION,
    is_common_name,
    load_common_names,
)
from evals.extraction.references import (
    EXTRACTOR_VERSION,
    Reference,
    extract_references,
    lines_with,
    matches,
    occurs_in,
)


def values(text, kind):
    return {reference.value for reference in extract_references(text) if reference.kind == kind}


PATHS = [
    ("see src/app.ts.", "src/app.ts"),
    ("src/app.ts:12", "src/app.ts"),
    ("src/app.ts:12:5: unused", "src/app.ts"),
    ("at (src/app.ts:12)", "src/app.ts"),
    ("./src/app.ts", "src/app.ts"),
    ("././deep/app.ts", "deep/app.ts"),
    ("../lib/one", "../lib/one"),
    ("~/notes/plan", "~/notes/plan"),
    ("/var/data/run7", "/var/data/run7"),
    ("/srv/app/config.yaml,", "/srv/app/config.yaml"),
    ('open("/srv/app/x.py")', "/srv/app/x.py"),
    ("path=/srv/app/x.py", "/srv/app/x.py"),
    ("`parser_rules.py`", "parser_rules.py"),
    ("parser.rules.spec.ts", "parser.rules.spec.ts"),
    ("diff --git a/pkg/foo.py b/pkg/foo.py", "pkg/foo.py"),
    ("+++ b/pkg/foo.py", "pkg/foo.py"),
    ("pkg/foo.go-342-\tx := 1", "pkg/foo.go"),
    ("pkg/foo.go-342:", "pkg/foo.go"),
    ("pkg/foo.go-342-//nolint", "pkg/foo.go"),
    ("src//double/slash.py", "src/double/slash.py"),
    ("src/components", "src/components"),
    ("my_pkg/io2", "my_pkg/io2"),
    ("one/two/three/four", "one/two/three/four"),
    ("/api/v1/users", "/api/v1/users"),
    (".\\src\\win.ts", "src/win.ts"),
    ("C:\\new\\table.py", "/new/table.py"),
    ("C:\\\\Users\\\\me\\\\a1.py", "/Users/me/a1.py"),
    ("C:/Users/me/a1.py", "/Users/me/a1.py"),
    ("文档/说明.md", "文档/说明.md"),
    ("修改src/app.ts文件", "src/app.ts"),
    ("看“src/报告.md”。", "src/报告.md"),
    ("docs/cafe\u0301.md", "docs/caf\u00e9.md"),
    ("line\\nsrc/app.ts\\nline", "src/app.ts"),
    ("`${dir}/file_one.ts`", "file_one.ts"),
    ("@scope/my-own-lib", "@scope/my-own-lib"),
    ("</div>", None),
    ("<br/>", None),
    ("</section></div>", None),
    ("// a comment", None),
    ("x = 1 //todo", None),
    ("/* block */", None),
    ("and/or", None),
    ("input/output", None),
    ("client/server-side", None),
    ("red/green/refactor", None),
    ("N/A", None),
    ("需求/要求", None),
    ("TCP/IP", None),
    ("1/2", None),
    ("12/31", None),
    ("2026/11/30", None),
    ("24/7", None),
    ("15.2/op", None),
    ("12ms/op", None),
    ("text/plain", None),
    ("application/json;", None),
    ("image/svg+xml", None),
    ("application/vnd.ms-excel", None),
    ("s/foo/bar/g", None),
    (".replace(/foo/g, '')", None),
    ("/help", None),
    ("/", None),
    ("...", None),
    ("await response.json()", None),
    ("console.log(x)", None),
    ("/usr/bin/env", None),
    ("README.md and package.json", None),
    ("https://host.dev/a/b.html", None),
    ("end.Next", None),
    ("v1.2.3", None),
    ("10.0.0.1", None),
]

URLS = [
    ("see https://host.dev/a/b.html?x=1#top.", "https://host.dev/a/b.html?x=1#top"),
    ("(https://host.dev/a)", "https://host.dev/a"),
    ("[x](https://host.dev/a/)", "https://host.dev/a"),
    ('"https://host.dev/a",', "https://host.dev/a"),
    ("http://10.0.0.1:8787/health", "http://10.0.0.1:8787/health"),
    ("postgres://me@db:5432/app", "postgres://me@db:5432/app"),
    ("git+ssh://git@host.dev/r.git", "git+ssh://git@host.dev/r.git"),
    ("https://host.dev/wiki/Go_(game)", "https://host.dev/wiki/Go_(game)"),
    ("看https://host.dev/a。好", "https://host.dev/a"),
    ("`http://host.dev:${PORT}/x`", "http://host.dev"),
    ("://", None),
    ("http://", None),
    ("std::io//x", None),
    ("http://www.w3.org/2000/svg", None),
    ("data:image/png;base64,iVBORw0KGgo=", None),
]

UUIDS = [
    ("id e9f146fa-3b20-48d0-9be4-d99ca901cae4.", "e9f146fa-3b20-48d0-9be4-d99ca901cae4"),
    ("E9F146FA-3B20-48D0-9BE4-D99CA901CAE4", "E9F146FA-3B20-48D0-9BE4-D99CA901CAE4"),
    ("e9f146fa-3b20-48d0-9be4", None),
    ("12345678-1234", None),
]

HASHES = [
    ("commit 3f2a9bc", "3f2a9bc"),
    ("sha256:" + "0a" * 32, "0a" * 32),
    ("index abc1234..def5678", "abc1234"),
    ("bundle-3f2a9bc1", "3f2a9bc1"),
    ("3F2A9BC1", "3F2A9BC1"),
    ("3f2a9b", None),
    ("1234567", None),
    ("deadbee", None),
    ("12e1000000", None),
    ("0x7ffe12ab34", None),
    ("0a" * 33, None),
    ("3f2a9bG1", None),
]

IDENTIFIERS = [
    ("call load_session_tree()", "load_session_tree"),
    ("_private_thing", "_private_thing"),
    ("MAX_QUEUE_DEPTH", "MAX_QUEUE_DEPTH"),
    ("loadSessionTree", "loadSessionTree"),
    ("SessionTree", "SessionTree"),
    ("XMLTreeWalker", "XMLTreeWalker"),
    ("self.session_store", "session_store"),
    ("this.treeWalker.getBranch(x)", "treeWalker.getBranch"),
    ("session_store.items()", "session_store"),
    ("--queue_depth_max 3", "queue_depth_max"),
    ("@cached_tree", "cached_tree"),
    ("crate::session_tree::walk", "session_tree"),
    ("使用load_session_tree函数", "load_session_tree"),
    ("\\nload_session_tree\\n", "load_session_tree"),
    ("runTestForAllOfUs", "runTestForAllOfUs"),
    ("plainword", None),
    ("Capitalised", None),
    ("UPPERCASE", None),
    ("a_b", None),
    ("os.path.join", None),
    ("json.dumps(x)", None),
    ("np.random.rand", None),
    ("logging.getLogger", None),
    ("setUpClass", None),
    ("addEventListener", None),
    ("typing_extensions", None),
    ("console.error", None),
    ("fmt.Println", None),
    ("unwrap_or_else", None),
    ("JavaScript", None),
    ("Node.js", None),
    ("e.g.", None),
    ("it ran.Before that", None),
    ("user.name@host.dev", None),
    ("kebab-case-name", None),
    ("1_000_000", None),
    ("2026-11-30", None),
    ("12:30:59", None),
    ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.abc", None),
]

KEY_VALUES = [
    ("port=8787", "port=8787"),
    ("--port=8787", "port=8787"),
    ('"port": 8787,', "port=8787"),
    ("'port': 8787}", "port=8787"),
    ('{\\"port\\": 8787}', "port=8787"),
    ("port = 8787", "port=8787"),
    ("timeout: 30", "timeout=30"),
    ("timeout: 30s", "timeout=30s"),
    ("width: 50%;", "width=50%"),
    ("limit: 192,000 tokens", "limit=192000"),
    ("limit=192_000", "limit=192000"),
    ("ratio: -0.25", "ratio=-0.25"),
    ("It was port: 8787.", "port=8787"),
    ("端口port：8787", "port=8787"),
    ('mode="read only"', "mode=read only"),
    ("cabin: 'first class'", "cabin=first class"),
    ("server.port=8787", "server.port=8787"),
    ("version: 1.2.3", None),
    ("date: 2026-11-30", None),
    ("start: 12:30", None),
    ("at 12:30", None),
    ("x = 5", None),
    ("count: 0", None),
    ("app.py:12", None),
    ("src/app:12", None),
    ("port == 8787", None),
    ("port != 8787", None),
    ('role: "user"', None),
    ('path="/srv/app/x.py"', None),
    ("const x: string = 'quarter'", None),
    ('f("key=", other("x"))', None),
    ("size=12abc", None),
]

ERROR_LINES = [
    ("KeyError: 'x'", "KeyError: 'x'"),
    ("E   AssertionError: assert 3 == 4", "AssertionError: assert # == #"),
    ("a.b.DecodeError: Extra data: line 1", "a.b.DecodeError: Extra data: line #"),
    ("Uncaught TypeError: x is not a function", "TypeError: x is not a function"),
    ("2026-11-30 12:00:01 ERROR db lost after 12 s", "ERROR db lost after # s"),
    ("[12:00:01] ERROR db lost after 99 s", "ERROR db lost after # s"),
    ("src/a.ts(1,2): error TS2345: Argument of type", "error TS2345: Argument of type"),
    ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
    ("a.c:3:1: error: expected ';' before", "error: expected ';' before"),
    ("panic: index out of range [5]", "panic: index out of range [#]"),
    ("thread 'main' panicked at src/main.rs:12", "thread 'main' panicked at src/main.rs:#"),
    ("fatal: not a git repository", "fatal: not a git repository"),
    ("RuntimeError: bad pointer 0x7f3a", "RuntimeError: bad pointer #"),
    ("except KeyError: pass", None),
    ("isError: boolean", None),
    ("throw new Error('x')", None),
    ("  error: string;", None),
    ("no errors found", None),
    ("errorCount = 3", None),
]  # fmt: skip

TABLES = {
    "path": PATHS,
    "url": URLS,
    "uuid": UUIDS,
    "hash": HASHES,
    "identifier": IDENTIFIERS,
    "key_value": KEY_VALUES,
    "error_line": ERROR_LINES,
}
ROWS = [(kind, text, value) for kind, table in TABLES.items() for text, value in table]


@pytest.mark.parametrize(("kind", "text", "value"), ROWS)
def test_a_text_names_the_expected_reference_or_none(kind, text, value):
    found = values(text, kind)

    assert value in found if value else found == set()


@pytest.mark.parametrize(("kind", "text", "value"), [row for row in ROWS if row[2]])
def test_a_reference_matches_the_text_it_came_from(kind, text, value):
    references = extract_references(text)

    assert matches(Reference(kind, value), text, references)
    assert lines_with(value, f"before\n{text}\nafter") == [text]
    assert kind in {"key_value", "error_line"} or occurs_in(value, text)


@pytest.mark.parametrize(
    "text", ["42", "3.14", "1.2.3", "v2.0", "2026-11-30", "12:30:05", "12/31", "99%", "1_000"]
)
def test_numbers_dates_and_versions_are_no_references(text):
    assert extract_references(f"it is {text} now") == frozenset()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ('Path string `json:"worktree_path,omitempty" yaml:"wt path"`', set()),
        ('Port int `validate:"min=1,max=65535" json:"port,string"`', set()),
        ('{"new": "ID int `json:\\"worktree id\\" db:\\"w id\\"`"}', set()),
        ('Limit int `json:"limit"` // limit: 250', {"limit=250"}),
        ('mode: `name:"blue lake"` or mode="very slow"', {"mode=very slow"}),
        ('{title:"blue lake", port:8787}', {"title=blue lake", "port=8787"}),
        ("set `port: 8787`, `mode='very slow'`", {"port=8787", "mode=very slow"}),
        ('{"title": "the \\"blue\\" lake"}', set()),
    ],
)
def test_tags_of_struct_fields_and_cut_texts_are_no_assignments(text, pairs):
    found = {each.value for each in extract_references(text) if each.kind == "key_value"}

    assert found == pairs


def test_a_path_inside_a_url_is_not_a_path_too():
    assert {kind for kind, _ in extract_references("GET https://host.dev/src/app_main.py ok")} == {
        "url"
    }


@pytest.mark.parametrize("length", [48, 90, 3000])
def test_base64_yields_no_reference(length):
    blob = base64.b64encode(random.Random(length).randbytes(length)).decode()
    wrapped = "\n".join(blob[i : i + 76] for i in range(0, len(blob) // 76 * 76, 76))

    assert extract_references(f'"{blob}"') == frozenset()
    assert extract_references(wrapped) == frozenset()
    assert extract_references(f"src=data:image/png;base64,{blob} ") == frozenset()


@pytest.mark.parametrize(
    ("value", "text", "stands"),
    [
        ("src/app.ts", "/home/me/src/app.ts:3", True),
        ("src/app.ts", "mysrc/app.ts", False),
        ("src/app.ts", "src/app.tsx", False),
        ("src/app.ts", "src\\app.ts", True),
        ("port", "port_a", False),
        ("load_it", "x.load_it()", True),
        ("load_it", "reload_it load_it2", False),
        ("load_it", "reload_it load_it", True),
        ("load_it", "调用load_it函数", True),
        ("说明.md", "请看说明.md", False),
        ("caf\u00e9.md", "cafe\u0301.md", True),
        ("load_it", "", False),
    ],
)
def test_a_value_occurs_only_as_a_whole_token(value, text, stands):
    assert occurs_in(value, text) is stands


def test_a_templated_and_a_real_absolute_path_are_both_found():
    assert values("${root}/pkg/a1.py", "path") == {"pkg/a1.py"}
    assert values("${root}/pkg/a1.py\n/pkg/a1.py", "path") == {"pkg/a1.py", "/pkg/a1.py"}


def test_values_are_case_sensitive():
    assert not extract_references("loadTree") & extract_references("LoadTree")


def test_the_common_names_are_shipped_and_cover_each_source():
    exact, folders = load_common_names()

    assert {
        "os.path.join",
        "querySelector",
        "fmt.Errorf",
        "README.md",
        "charset_normalizer",
    } <= exact
    assert "/usr/bin/" in folders
    assert is_common_name("/usr/bin/git")
    assert not is_common_name("load_session_tree")


SNIPPETS = st.sampled_from([text for _, text, _ in ROWS])
TEXTS = st.lists(
    SNIPPETS | st.text(max_size=12) | st.text("aZ0_./\\:=\"'(){}<- \t", max_size=30), max_size=6
).map("".join)


@given(TEXTS)
def test_any_text_is_read_without_an_error(text):
    for kind, value in extract_references(text):
        assert kind in TABLES
        assert value.strip()


@given(TEXTS, TEXTS)
def test_lines_joined_give_the_union_of_their_references(first, second):
    together = extract_references(f"{first}\n{second}")

    assert together == extract_references(first) | extract_references(second)


@given(st.lists(SNIPPETS, min_size=1, max_size=5).map(" ".join))
def test_what_was_extracted_occurs_in_the_text(text):
    for kind, value in extract_references(text):
        assert kind in {"key_value", "error_line"} or occurs_in(value, text)


def test_a_long_text_read_in_pieces_gives_the_same_as_its_lines():
    lines = [text for _, text, _ in ROWS] * 300

    assert extract_references("\n".join(lines)) == frozenset().union(
        *map(extract_references, lines[: len(ROWS)])
    )


@pytest.mark.parametrize(
    "unit",
    [
        "a", "_", "(", "/", "\\", " ", ".", "中", "a/", "a_", "a.", "Aa", "/a(", "/a/b}", "://",
        "http://a", "data:a/b", ':"', "=1", "Error: ", "ERROR x\n", "x.json(", "a:\\", "\\n",
    ],
)  # fmt: skip
def test_hostile_repetition_ends(unit):
    assert len(extract_references(unit * (300_000 // len(unit)))) < 5


@pytest.mark.parametrize("written", ["encoding=utf-8", "encoding='latin-1'", 'charset: "UTF-16"'])
def test_a_text_encoding_is_a_common_value(written):
    assert extract_references(written) == frozenset()


def test_the_version_of_the_extractor_names_that_of_the_common_names():
    assert COMMON_NAMES_VERSION in EXTRACTOR_VERSION
