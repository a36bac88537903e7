"""The page of an audit: safe to open, whatever a session is called."""

from dataclasses import replace
from html.parser import HTMLParser

from evals.audit.command import to_json
from evals.audit.rendering import as_markdown, as_text
from evals.audit.tables import CONTESTANT_HEADS
from evals.audit.text import sections_of
from reports.audit_page import audit_html
from tests.audit_cases import AFTER, BEFORE, OUTCOMES, compacted
from tests.test_audit_text import audit_of

HOSTILE = "<script>alert(1)</script>\x1b[2J‮"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
        self.links = []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "onclick")]


def tags_of(page):
    tags = Tags()
    tags.feed(page)
    return tags


def test_the_page_runs_no_script_and_loads_nothing():
    page = audit_html(to_json(audit_of(replace(compacted(), name=HOSTILE))))

    tags = tags_of(page)
    assert "script" not in tags.found
    assert tags.links == []
    assert "default-src 'none'" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u001b" in page.replace("\\x1b", "\\u001b")
    assert not {"\x1b", "‮"} & set(page)


def test_what_a_conversation_says_steers_no_reader():
    made = ("call", "h1", "Bash", {"command": f"echo '{HOSTILE}|`x`'"}, "one line\nand another")
    story = compacted((*BEFORE, made), ((*AFTER, ("call", "h2", *made[2:]))))
    audit = audit_of(story, show_text=True)

    (boundary,) = audit.sessions[0].boundaries
    assert any("<script>" in name for name in boundary.reacquired.names)
    sections = sections_of(audit)
    page, told, marked = audit_html(to_json(audit)), as_text(sections), as_markdown(sections)
    for text in (page, told, marked):
        assert not {"\x1b", "\u202e"} & set(text)
    assert "script" not in tags_of(page).found
    assert "<script" not in marked
    assert "\\|\\`x\\`" in marked


def test_the_page_says_what_the_terminal_says_and_shows_all_columns():
    page = audit_html(to_json(audit_of(compacted())))

    assert "2 file paths were needed again within 5 requests and were gone" in page
    assert all(f'<th scope="col">{head}</th>' in page for head in CONTESTANT_HEADS)
    assert tags_of(page).found.count("table") == 1


def test_names_are_on_the_page_only_if_text_is_shown():
    hidden = audit_html(to_json(audit_of(compacted())))
    shown = audit_html(to_json(audit_of(compacted(), show_text=True)))

    assert not any(name in hidden for name in OUTCOMES)
    assert "config/retry.yaml" in shown
    assert "--show-text" in hidden
    assert "--show-text" not in shown


def test_long_settings_go_on_in_the_next_line_at_their_words():
    audit = to_json(audit_of(compacted()))
    grid = next(section["grid"] for section in audit["sections"] if section["grid"])
    grid["rows"] = [["clear_tool_results(keep_last_results=31)", "1"], ["mine.py:shrink", "1"]]

    page = audit_html(audit)

    assert "<bdi>clear_<wbr>tool_<wbr>results(<wbr>keep_<wbr>last_<wbr>results<wbr>=31)" in page
    assert "<bdi>mine.py:<wbr>shrink</bdi>" in page
