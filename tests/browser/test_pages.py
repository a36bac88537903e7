"""The pages in a real browser: silent, offline, operable, accessible."""

from dataclasses import asdict

import pytest

from compaction.extractive import ExtractiveModel
from evals.explain import explain
from evals.needs import find_needs
from reports.explain_page import page as explain_page
from tests.needs_cases import prepared, result, says, steps, user
from tests.rule_cases import summarised

pytestmark = pytest.mark.browser

WIDTHS = (400, 800, 1280)
POINTS = "#pareto-1 path[aria-roledescription=point]"


def charts_drawn(page):
    page.wait_for_selector("#pareto-1 svg", timeout=30_000)


def rows_of(page):
    return page.locator("table.sortable").first.locator("tbody tr")


def test_the_page_opens_offline_with_an_empty_console_and_asks_for_nothing(visit, report):
    seen = visit(report)
    charts_drawn(seen.page)

    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_every_chart_that_is_shown_is_drawn(visit, report):
    page = visit(report).page
    charts_drawn(page)

    for name in ("pareto-1", "sweep-1-1", "each-1", "timeline-1", "cost-1"):
        page.wait_for_selector(f"#{name} svg", timeout=30_000)


def test_a_click_on_a_head_sorts_down_and_then_up(visit, report):
    page = visit(report).page
    head = page.locator("table.sortable thead th").nth(1)

    def values():
        cells = rows_of(page).locator("td:nth-of-type(1)")
        return [float(text) for text in cells.evaluate_all("all => all.map(x => x.dataset.v)")]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    down = values()
    head.locator("button").click()

    assert down == sorted(down, reverse=True)
    assert values() == sorted(down)


def test_dollars_replace_tokens_and_come_back(visit, report):
    page = visit(report).page
    charts_drawn(page)

    page.get_by_role("radio", name="dollars").check()
    page.wait_for_selector("#pareto-usd-1 svg", timeout=30_000)
    assert not page.locator("#pareto-1").is_visible()

    page.get_by_role("radio", name="tokens").check()
    assert page.locator("#pareto-1").is_visible()
    assert not page.locator("#pareto-usd-1").is_visible()


def test_hovering_over_a_point_names_its_setting(visit, report):
    page = visit(report).page
    charts_drawn(page)

    page.locator(POINTS).last.hover(force=True)
    tooltip = page.wait_for_selector("#vg-tooltip-element.visible", timeout=10_000)

    assert "xun(" in tooltip.inner_text()


def test_a_chosen_row_steps_back_all_other_points_and_a_second_click_undoes_it(visit, report):
    page = visit(report).page
    charts_drawn(page)
    row = rows_of(page).first

    row.locator("button.pick").click()
    assert row.evaluate("row => row.classList.contains('chosen')")
    assert row.locator("button.pick").get_attribute("aria-pressed") == "true"
    page.wait_for_function("""() => {
        const all = [...document.querySelectorAll("#pareto-1 path[aria-roledescription=point]")];
        const faint = all.filter((path) => Number(path.getAttribute('opacity')) < 0.5);
        return faint.length > 0 && faint.length < all.length;
    }""")

    row.locator("button.pick").click()
    assert page.locator("tr.chosen").count() == 0


def test_a_click_on_a_point_chooses_its_row(visit, report):
    page = visit(report).page
    charts_drawn(page)

    page.locator(POINTS).last.click(force=True)

    page.wait_for_selector("tr.chosen", timeout=10_000)
    assert page.locator("tr.chosen").count() == 1


def test_rows_and_heads_are_operable_by_keyboard(visit, report):
    page = visit(report).page
    charts_drawn(page)

    rows_of(page).first.locator("button.pick").focus()
    page.keyboard.press("Enter")
    assert page.locator("tr.chosen").count() == 1

    page.locator("table.sortable thead th button").first.focus()
    page.keyboard.press("Space")
    assert page.locator("table.sortable thead th").first.get_attribute("aria-sort") is not None

    page.get_by_role("radio", name="tokens").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#pareto-usd-1 svg", timeout=30_000)


def test_the_policy_forbids_network_and_evaluation(visit, report):
    page = visit(report).page

    blocked = page.evaluate("""async () => {
        const tries = {
            fetch: () => fetch('file:///etc/hostname'),
            script: () => new Promise((resolve, reject) => {
                const element = document.createElement('script');
                element.textContent = 'window.ran = true';
                document.body.append(element);
                window.ran ? resolve() : reject(new Error('blocked'));
            }),
        };
        const found = [];
        for (const [name, attempt] of Object.entries(tries)) {
            try { await attempt(); } catch { found.push(name); }
        }
        setTimeout('window.evaluated = true');
        await new Promise((resolve) => setTimeout(resolve, 200));
        return window.evaluated ? found : [...found, 'eval'];
    }""")

    assert blocked == ["fetch", "script", "eval"]


def test_hostile_content_stays_text(visit, hostile_report, small_report):
    seen, harmless = visit(hostile_report), visit(small_report)

    counts = [each.page.evaluate("() => document.scripts.length") for each in (seen, harmless)]
    handlers = seen.page.evaluate("""() => [...document.querySelectorAll('*')].filter(
        (each) => [...each.attributes].some((item) => item.name.startsWith('on'))).length""")

    assert seen.complaints == []
    assert counts[0] == counts[1]
    assert handlers == 0
    assert seen.page.locator("img, iframe, object, embed").count() == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_at_any_width(visit, report, tmp_path, width, scheme):
    viewport = {"width": width, "height": 900}
    page = visit(report, viewport=viewport, color_scheme=scheme).page
    charts_drawn(page)

    overflow = page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    picture = page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)

    assert overflow <= 0
    assert len(picture) > 10_000


def test_a_print_shows_whole_tables(visit, report):
    page = visit(report).page
    page.emulate_media(media="print")

    assert page.locator(".wide").first.evaluate("x => getComputedStyle(x).overflowX") == "visible"


def serious(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [
        (each["id"], each["nodes"][0]["html"][:200])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_obstacle_for_anybody(visit, report, scheme):
    page = visit(report, color_scheme=scheme, bypass_csp=True).page
    charts_drawn(page)

    assert serious(page) == []


def explanation():
    talk = prepared(
        user("Find it."),
        says("", ("c1", "read_notes", {"n": 1})),
        result("c1", "<script>alert(1)</script> writes every booking into /srv/billing/export.log"),
        *steps(4),
        says("I open /srv/billing/export.log."),
    )
    rule = summarised("<img src=x onerror=alert(1)>")
    return explain(talk, find_needs(talk), rule, ExtractiveModel(), label="<b>rule</b>")


def test_the_page_of_explain_is_silent_and_without_obstacle(visit, tmp_path):
    path = tmp_path / "explain.html"
    path.write_text(explain_page(asdict(explanation())), "utf-8")

    seen = visit(path, bypass_csp=True)

    assert seen.complaints == []
    assert seen.page.locator("script, img").count() == 0
    assert serious(seen.page) == []
