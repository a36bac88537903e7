"""A real browser, without network, on pages that are made here.

Chromium is Debian's package `chromium`; Playwright only drives it. Without either, tests skip.
"""

import os
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import pytest

from compaction.extractive import ExtractiveModel
from evals.audit.command import to_json
from evals.explain import explain
from evals.needs import find_needs
from evals.results import RunFolder
from reports.audit_page import audit_html
from reports.explain_page import page as explain_html
from reports.frames import load
from reports.page import html
from tests.audit_cases import compacted
from tests.needs_cases import prepared, result, says, steps, user
from tests.reports_cases import (
    hostile_rows,
    long_sidecar,
    row,
    small_rows,
    small_sidecar,
    wide_rows,
    write_run,
)
from tests.rule_cases import summarised
from tests.test_audit_text import audit_of
from tests.test_reports_page_size import write_run_quickly

MANY_STRATEGIES = 40
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")


@dataclass
class Visit:
    """An open page and everything that it complained about or asked for."""

    page: object
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium; install Debian's package of that name")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Return a function that opens a file with the network off."""
    contexts = []

    def open_(path: Path, **options) -> Visit:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        found = Visit(page)
        page.on("console", lambda message: found.complaints.append(message.text))
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("dialog", lambda dialog: found.complaints.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: found.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_load_state("load")
        return found

    yield open_
    for context in contexts:
        context.close()


def priced(label, saved_usd, **columns):
    costs = {"cost_before_usd": 2.0, "cost_after_usd": 2.0 * (1 - saved_usd)}
    return row("a", label, **costs, **columns)


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """Write the page of a sweep with prices, two transcripts and a timeline."""
    folder = tmp_path_factory.mktemp("report")
    rows = [
        row(
            transcript,
            f"xun(keep={keep}, threshold={share}%)",
            strategy="xun",
            parameters={"keep": str(keep), "threshold": f"{share}%"},
            saving=0.6 - keep / 40,
            reach=0.4 + keep / 20,
            needs=20,
            lost=20 - keep,
            cost_before_usd=2.0,
            cost_after_usd=1.0 + keep / 20,
        )
        for transcript in ("a", "b")
        for keep in (2, 8)
        for share in (25, 50)
    ]
    rows += [
        row(name, "identity", saving=0.0, reach=1.0, needs=20, is_control=True) for name in "ab"
    ]
    path = write_run(folder / "run", rows)
    costs = {"read": 0.5, "written": 0.4, "output": 0.2, "own_calls": 0.1}
    for item in rows:
        sidecar = {**small_sidecar(), "cost": {"before_usd": costs, "after_usd": costs}}
        RunFolder(path).write_sidecar(item.cell_id, sidecar)
    target = folder / "report.html"
    target.write_text(html(load(path)), "utf-8")
    return target


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    rows = [*hostile_rows(), row("x" * 1_000_000, "y" * 1_000_000, saving=0.3, reach=0.5, needs=3)]
    rows[-1] = rows[-1].__class__(**{**rows[-1].to_json(), "cell_id": "long", "not_declared": ()})
    target = folder / "report.html"
    target.write_text(html(load(write_run(folder / "run", rows))), "utf-8")
    return target


@pytest.fixture(scope="session")
def small_report(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    target = folder / "report.html"
    target.write_text(html(load(write_run(folder / "run", small_rows()))), "utf-8")
    return target


@pytest.fixture(scope="session")
def long_report(tmp_path_factory) -> Path:
    """Write the page of one conversation of a thousand requests, with 900 lost needs."""
    folder = tmp_path_factory.mktemp("long")
    item = row("a", "clear", saving=0.6, reach=0.4, needs=2_000, lost=900, requests=1_000)
    path = write_run(folder / "run", [item])
    RunFolder(path).write_sidecar(item.cell_id, long_sidecar(1_000, lost_from=100))
    target = folder / "report.html"
    target.write_text(html(load(path)), "utf-8")
    return target


@pytest.fixture(scope="session")
def few_report(tmp_path_factory) -> Path:
    """Write the page of four strategies under eight settings, with every column."""
    return wide_page(tmp_path_factory.mktemp("few"), 4, 8)


@pytest.fixture(scope="session")
def many_report(tmp_path_factory) -> Path:
    """Write the same of 40 strategies under 50 settings."""
    return wide_page(tmp_path_factory.mktemp("many"), MANY_STRATEGIES, 50)


def wide_page(folder: Path, n_strategies: int, n_settings: int) -> Path:
    path = write_run_quickly(folder / "run", wide_rows(n_strategies, n_settings))
    target = folder / "report.html"
    target.write_text(html(load(path)), "utf-8")
    return target


SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def explanation_page(tmp_path_factory) -> Path:
    talk = prepared(
        user("Find it."),
        says("", ("c1", "read_notes", {"n": 1})),
        result("c1", f"{SCRIPT} writes every booking into /srv/billing/export.log"),
        *steps(4),
        says("I open /srv/billing/export.log."),
    )
    rule = summarised("<img src=x onerror=alert(1)>")
    found = explain(talk, find_needs(talk), rule, ExtractiveModel(), label="<b>rule</b>")
    target = tmp_path_factory.mktemp("explain") / "explain.html"
    target.write_text(explain_html(asdict(found)), "utf-8")
    return target


@pytest.fixture(scope="session")
def huge_explanation_page(tmp_path_factory) -> Path:
    """Write the page of a megabyte of hostile tool output, and as much of a summary."""
    hostile = f"{SCRIPT}</script><img src=x onerror=alert(1)>\u202e\u2066 " * 20_000
    talk = prepared(
        user("Find it."),
        says("", ("c1", "read_notes", {"n": 1})),
        result("c1", f"/srv/billing/export.log\n{hostile}"),
        *steps(4),
        says("I open /srv/billing/export.log."),
    )
    found = explain(talk, find_needs(talk), summarised(hostile), ExtractiveModel(), label=hostile)
    target = tmp_path_factory.mktemp("huge") / "explain.html"
    target.write_text(explain_html(asdict(found)), "utf-8")
    return target


@pytest.fixture(scope="session")
def audit_page(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("audit") / "audit.html"
    found = audit_of(replace(compacted(), name=SCRIPT), show_text=True)
    target.write_text(audit_html(to_json(found)), "utf-8")
    return target
