"""The pages in a real browser: silent, offline, operable, accessible."""

import pytest

pytestmark = pytest.mark.browser

WIDTHS = (400, 900, 1440)
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

    head.locator("button.sort").click()
    assert head.get_attribute("aria-sort") == "descending"
    down = values()
    head.locator("button.sort").click()

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

    assert "xun(" in tooltip(page)


def tooltip(page):
    return page.wait_for_selector("#vg-tooltip-element.visible", timeout=10_000).inner_text()


@pytest.mark.parametrize(
    ("chart", "mark"),
    [("sweep-1-1", "rect mark"), ("each-1", "point"), ("cost-1", "bar")],
)
def test_every_chart_names_the_setting_below_the_mouse(visit, report, chart, mark):
    page = visit(report).page
    page.wait_for_selector(f"#{chart} svg", timeout=30_000)

    page.locator(f"#{chart} path[aria-roledescription='{mark}']").last.hover(force=True)

    assert "xun(" in tooltip(page)


def test_a_definition_is_one_click_away_from_each_head(visit, report):
    page = visit(report).page
    heads = page.locator("table.sortable").first.locator("thead th")
    known = [at for at in range(heads.count()) if heads.nth(at).locator("button.what").count()]

    heads.nth(known[1]).locator("button.what").click()

    shown = page.locator("[popover]:popover-open")
    assert shown.count() == 1
    assert "What is visible | recoverable." in shown.inner_text()
    assert heads.nth(known[1]).get_attribute("aria-sort") is None
    page.keyboard.press("Escape")
    assert shown.count() == 0


FAINT = """name => {
    const all = [...document.querySelectorAll(`[id="${name}"] path[aria-roledescription]`)];
    const faint = all.filter((path) => Number(path.getAttribute('opacity')) < 0.5);
    return faint.length > 0 && faint.length < all.length;
}"""
CHARTS = ("pareto-1", "sweep-1-1", "each-1", "cost-1")


def everywhere_chosen(page):
    """Wait until every chart has stepped back all settings but one; return its name."""
    for name in CHARTS:
        page.wait_for_function(FAINT, arg=name)
    (name,) = {row.get_attribute("data-setting") for row in page.locator("tr.chosen").all()}
    assert page.locator("col.chosen").get_attribute("data-setting") == name
    return name


def test_a_chosen_row_steps_back_all_other_points_and_a_second_click_undoes_it(visit, report):
    page = visit(report).page
    charts_drawn(page)
    row = rows_of(page).first

    row.locator("button.pick").click()
    assert row.locator("button.pick").get_attribute("aria-pressed") == "true"
    assert everywhere_chosen(page) == row.get_attribute("data-setting")

    row.locator("button.pick").click()
    assert page.locator(".chosen").count() == 0
    for name in CHARTS:
        page.wait_for_function(f"name => !({FAINT})(name)", arg=name)


@pytest.mark.parametrize(
    "mark",
    [
        POINTS,
        "#sweep-1-1 path[aria-roledescription='rect mark']",
        "#each-1 path[aria-roledescription=point]",
        "#cost-1 path[aria-roledescription=bar]",
    ],
)
def test_a_click_on_a_mark_chooses_its_setting_everywhere(visit, report, mark):
    page = visit(report).page
    charts_drawn(page)
    page.wait_for_selector("#cost-1 svg", timeout=30_000)
    page.locator(mark).last.hover(force=True)
    named = tooltip(page)

    page.locator(mark).last.click(force=True)

    page.wait_for_selector("tr.chosen", timeout=10_000)
    assert everywhere_chosen(page) in named


def test_a_choice_outlives_the_switch_to_dollars(visit, report):
    page = visit(report).page
    charts_drawn(page)
    rows_of(page).first.locator("button.pick").click()

    page.get_by_role("radio", name="dollars").check()

    page.wait_for_selector("#pareto-usd-1 svg", timeout=30_000)
    page.wait_for_function(FAINT, arg="pareto-usd-1")


def test_a_thousand_requests_are_one_readable_picture(visit, long_report):
    seen = visit(long_report)
    page = seen.page
    page.wait_for_selector("#timeline-1 svg", timeout=30_000)

    names = page.locator("#timeline-1 svg text").all_text_contents()
    assert {"sent whole", "cleared", "1,000", "1,800"} <= {*names}
    assert "summarised" not in names
    page.locator("#timeline-1 path[aria-roledescription=point]").last.hover(force=True)
    assert "lost message" in tooltip(page)
    assert "Each row stands for" in page.locator("figcaption", has_text="Context of").inner_text()
    assert seen.complaints == []


def test_names_of_transcripts_have_the_colour_of_text_in_the_dark(visit, report):
    page = visit(report, color_scheme="dark").page
    page.wait_for_selector("#each-1 svg", timeout=30_000)

    ink = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')")
    fills = page.locator("#each-1 svg text").evaluate_all("x => x.map(t => t.getAttribute('fill'))")

    assert {fill for fill in fills if fill} == {ink.strip()}


def test_rows_and_heads_are_operable_by_keyboard(visit, report):
    page = visit(report).page
    charts_drawn(page)

    rows_of(page).first.locator("button.pick").focus()
    page.keyboard.press("Enter")
    assert page.locator("table.sortable").first.locator("tr.chosen").count() == 1

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


@pytest.fixture(params=["report", "long_report", "many_report", "explanation_page", "audit_page"])
def any_page(request):
    return request.param, request.getfixturevalue(request.param)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_at_any_width(visit, any_page, tmp_path, width, scheme):
    """Makes the pictures to look at: pytest --basetemp=FOLDER keeps them."""
    name, path = any_page
    page = visit(path, viewport={"width": width, "height": 900}, color_scheme=scheme).page
    if page.locator(".chart").count():
        charts_drawn(page)
        page.wait_for_timeout(500)  # the pictures below the first

    overflow = page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    cut = page.evaluate("""() => [...document.querySelectorAll('.chart:not(.facets)')].filter(
        (place) => [...place.querySelectorAll('svg text')].some((text) =>
            text.getBoundingClientRect().right > place.getBoundingClientRect().right + 1
        )).map((place) => place.id)""")
    picture = page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True)

    assert overflow <= 0
    assert cut == []
    assert len(picture) > 10_000


def test_a_print_shows_whole_tables(visit, report):
    """A4 across, less its margins, is 1,062 pixels wide."""
    page = visit(report, viewport={"width": 1_062, "height": 700}).page
    page.emulate_media(media="print")

    assert page.locator(".wide").first.evaluate("x => getComputedStyle(x).overflowX") == "visible"
    widths = page.locator("table.sortable").evaluate_all("all => all.map(x => x.scrollWidth)")
    assert widths
    assert max(widths) <= 1_062


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["explanation_page", "audit_page", "long_report", "few_report"])
def test_no_serious_obstacle_on_the_other_pages(visit, request, name, scheme):
    page = visit(request.getfixturevalue(name), color_scheme=scheme, bypass_csp=True).page

    assert serious(page) == []


@pytest.mark.parametrize("name", ["explanation_page", "huge_explanation_page", "audit_page"])
def test_the_other_pages_are_silent_and_hold_hostile_text_as_text(visit, request, name):
    seen = visit(request.getfixturevalue(name))

    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith("file:")] == []
    assert seen.page.locator("script, img, iframe, object").count() == 0
    assert "<script>alert(1)</script>" in seen.page.locator("main").inner_text()


def test_the_timeline_follows_the_chosen_setting(visit, report):
    page = visit(report).page
    page.wait_for_selector("#timeline-1 svg", timeout=30_000)
    radios = page.locator("input[data-follows]")
    labels = [radio.get_attribute("data-follows") for radio in radios.all()]
    assert len(labels) == len(set(labels)) == 4
    wanted = labels[2]

    page.locator(f'tr[data-setting="{wanted}"] button.pick').first.click()

    page.wait_for_selector("#timeline-1-3 svg", timeout=30_000)
    assert page.locator("#timeline-1").is_hidden()
    shown = page.locator(".picture:visible figcaption").all_text_contents()
    assert any(f"under {wanted}." in text for text in shown)
    assert radios.nth(2).is_checked()
