"""The page: one file, no network, no foreign code, the same bytes every time."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evals.cli import main
from evals.metrics import METRICS
from evals.results import RunFolder
from reports.columns import COLUMNS
from reports.frames import load
from reports.page import html
from reports.tables import markdown
from tests.reports_cases import (
    hostile_rows,
    row,
    small_rows,
    small_sidecar,
    write_run,
)

MAX_BYTES = 1_500_000
LOADING = {"src", "href", "data", "srcset", "action", "poster", "background", "formaction"}


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script" and not self.scripts[-1]:
            self.scripts[-1] = data
        else:
            self.text.append(data)

    def attributes(self) -> Iterator[tuple[str, str]]:
        for _, attributes in self.found:
            yield from attributes.items()


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    path = write_run(tmp_path_factory.mktemp("page") / "run", small_rows())
    RunFolder(path).write_sidecar("a-xun(k=2)", small_sidecar())
    RunFolder(path).write_sidecar("b-xun(k=2)", small_sidecar())
    return path


@pytest.fixture(scope="module")
def page(run_folder) -> str:
    return html(load(run_folder))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> str:
    return html(load(write_run(tmp_path_factory.mktemp("hostile") / "run", hostile_rows())))


def policy_of(elements: Elements) -> str:
    metas = [attributes for tag, attributes in elements.found if tag == "meta"]
    return next(item["content"] for item in metas if "http-equiv" in item) or ""


def test_nothing_is_loaded_from_anywhere(page):
    elements = Elements(page)

    assert [name for name, _ in elements.attributes() if name in LOADING] == []
    assert {"link", "iframe", "img", "object", "embed", "base"}.isdisjoint(
        tag for tag, _ in elements.found
    )
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_the_policy_forbids_network_evaluation_and_unknown_scripts(page):
    elements = Elements(page)
    policy = policy_of(elements)

    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy
    script_rule = next(part for part in policy.split(";") if "script-src" in part)
    assert "unsafe-inline" not in script_rule
    kinds = [attributes for tag, attributes in elements.found if tag == "script"]
    code = [
        text
        for text, kind in zip(elements.scripts, kinds, strict=True)
        if kind.get("type") != "application/json"
    ]
    assert len(code) == 2
    for text in code:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in script_rule


def test_no_element_carries_an_event_handler(hostile):
    assert [name for name, _ in Elements(hostile).attributes() if name.startswith("on")] == []


def test_hostile_names_stay_text(hostile, page):
    elements = Elements(hostile)

    assert "<script>alert(1)</script>" not in hostile
    assert "<img src=x" not in hostile
    assert len(elements.scripts) == len(Elements(page).scripts)
    assert "<script>alert(1)</script>" in "".join(elements.text)
    assert "{{ 7 * 7 }}" in hostile
    for character in "\x1b\u202e\u2066":
        assert character not in hostile


def test_names_of_a_megabyte_are_cut(hostile):
    assert len(hostile.encode()) < MAX_BYTES


def test_the_charts_are_json_that_no_text_can_leave(hostile):
    elements = Elements(hostile)
    at = next(
        number
        for number, (_, attributes) in enumerate(
            item for item in elements.found if item[0] == "script"
        )
        if attributes.get("id") == "specs"
    )

    assert "<" not in elements.scripts[at]
    assert "</script><img" in json.dumps(json.loads(elements.scripts[at]))


def test_the_same_run_gives_the_same_bytes(run_folder, page):
    assert html(load(run_folder)) == page


def test_the_parts_come_in_the_order_of_the_design(page):
    marks = (
        'class="answer"',
        'id="pareto-1"',
        'id="league-1"',
        'id="timeline-1"',
        "What the columns mean",
        "Failures and broken rules",
        "<h2>Recorded compactions",
        "<h2>Self-checks",
        "<h2>Each transcript",
        "<h2>Caveats",
        "How this was made",
    )

    places = [page.index(mark) for mark in marks]

    assert places == sorted(places)


def test_every_column_has_a_definition_that_its_head_opens(tmp_path):
    metrics = [asdict(metric) for metric in METRICS]
    text = html(load(write_run(tmp_path / "run", small_rows(), metrics=metrics)))

    opened = set(re.findall(r'popovertarget="([^"]+)"', text))
    assert opened == set(re.findall(r'<div popover id="([^"]+)"><p>.{20,}</p>', text))
    heads = re.findall(r'<th scope="col"><button type="button" class="sort">.*?</th>', text)
    assert [head for head in heads[1:] if "popovertarget" not in head] == [heads[0]]
    assert {column.metric for column in COLUMNS} <= {metric.name for metric in METRICS}


def test_each_transcript_shows_reach_above_saving_and_names_errors(page):
    lines = re.findall(r'<tr><th scope="row"><bdi>b</bdi></th>(.*?)</tr>', page)

    assert len(lines) == 1
    assert "<td>70<i>10</i><td>" in lines[0]
    assert "<td>error<td>" in lines[0]


def test_what_did_nothing_reads_not_engaged_everywhere(page):
    lines = re.findall(r'<tr><th scope="row"><bdi>b</bdi></th>(.*?)</tr>', page)

    # idle and identity on b.
    assert lines[0].count("<td>n/e<i>0</i>") == 2


def test_the_caption_promises_what_is_drawn(page, tmp_path):
    rows = [item for item in small_rows() if item.transcript == "a"]
    one = html(load(write_run(tmp_path / "run", rows)))

    title = "Saving against reach, n = {} with needs over long gaps."
    assert title.format("2 transcripts") in page
    assert title.format("1 transcript") in one
    assert "Dashed line: truncation at any saving." in one
    assert "Dashed line" not in page
    assert "Small and hollow" not in one


def test_intervals_stand_below_their_means_and_empty_columns_are_left_out(page):
    assert '<td data-v="0.8">80.0 (2)<i>70.0 to 90.0</i></td>' in page
    assert "Facts kept, % (n)" not in page.split("What the columns mean")[0]


def test_no_conversation_text_of_a_sidecar_is_in_the_page(tmp_path):
    path = write_run(
        tmp_path / "run",
        [row("a", "x", saving=0.5, reach=0.5, violations=1, violated={"no_growth": 1})],
    )
    violation = {"rule": "no_growth", "request": 1, "pointer": "/0", "explanation": "my password"}
    RunFolder(path).write_sidecar("a-x", {**small_sidecar(), "violations": [violation]})

    assert "my password" not in html(load(path))


def test_a_run_without_rows_still_has_a_page(tmp_path):
    assert "Nothing was measured" in html(load(write_run(tmp_path / "run", [])))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_draws_the_charts_under_the_policy(page, tmp_path):
    (tmp_path / "report.html").write_text(page, encoding="utf-8")

    done = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=8000",
            "--enable-logging=stderr",
            "--dump-dom",
            f"file://{tmp_path / 'report.html'}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert "CONSOLE" not in done.stderr
    assert done.stdout.count("<svg") >= 2


def test_the_folder_of_a_killed_run_has_every_report(tmp_path, monkeypatch, capsys):
    """It has no prices, no list of cells and no end, and its last line is torn."""
    path = write_run(tmp_path / "run", small_rows())
    manifest = json.loads((path / "run.json").read_text("utf-8"))
    for name in ("finished_at", "cells", "corpus_digest", "prices"):
        manifest.pop(name, None)
    (path / "run.json").write_text(json.dumps(manifest), "utf-8")
    whole = (path / "rows.jsonl").read_text("utf-8")
    (path / "rows.jsonl").write_text(whole + whole[:200], "utf-8")
    monkeypatch.setattr(sys, "argv", ["compaction-evals", "report", str(path)])

    with pytest.raises(SystemExit) as stop:
        main()

    assert stop.value.code == 0
    assert "xun(k=2)" in capsys.readouterr().out
    page = (path / "report.html").read_text("utf-8")
    assert "<dt>Prices</dt><dd><bdi>not recorded</bdi></dd>" in page
    assert "<dt>Finished</dt><dd><bdi>not recorded</bdi></dd>" in page
    assert "- Prices: not recorded" in (path / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("definition", "in_page", "in_markdown"),
    [
        ("see `run.json` | here", "see <code>run.json</code> | here", "see `run.json` \\| here"),
        ("`<b>`", "<code>&lt;b&gt;</code>", "`<b>`"),
        ("a ` b <b>", "a ` b &lt;b&gt;", "a \\` b \\<b\\>"),
    ],
)
def test_what_stands_between_two_backticks_is_code_and_nothing_is_markup(
    tmp_path, definition, in_page, in_markdown
):
    metric = {"name": "reach", "title": "Reach", "unit": "share", "definition": definition}
    run = load(write_run(tmp_path / "run", small_rows(), metrics=[metric]))

    assert f"<dd>{in_page}</dd>" in html(run)
    assert f"- **Reach** (share): {in_markdown}\n" in markdown(run)
