"""Tables and legends of many columns, rows and strategies: nothing is cut without a word."""

import pytest

from tests.browser.conftest import MANY_STRATEGIES

pytestmark = pytest.mark.browser

PAPER_PIXELS = 1_062
"""A4 across, less its margins."""


@pytest.fixture(params=["few_report", "many_report"])
def wide_page(request):
    return request.getfixturevalue(request.param)


def opened(visit, path, width, **options):
    page = visit(path, viewport={"width": width, "height": 900}, **options).page
    page.wait_for_selector("#pareto-1 svg", timeout=30_000)
    page.wait_for_timeout(300)  # the observers of sizes
    return page


LAST_EDGE = """all => all.map(table => [
    table.tHead.rows[0].lastElementChild.getBoundingClientRect().right,
    table.parentElement.getBoundingClientRect().right,
])"""


@pytest.mark.parametrize("width", range(1_200, 1_321, 20))
def test_every_column_of_the_settings_is_in_a_window_of_1200_pixels(visit, wide_page, width):
    page = opened(visit, wide_page, width)

    edges = page.locator("table.sortable").evaluate_all(LAST_EDGE)

    assert len(edges) == 2
    assert all(head <= box <= width for head, box in edges)
    assert page.locator(".more:visible + .wide table.sortable").count() == 0


@pytest.mark.parametrize("width", [400, 900])
def test_a_table_that_is_too_wide_says_how_many_columns_are_seen(visit, wide_page, width):
    page = opened(visit, wide_page, width)
    wide = page.locator(".wide", has=page.locator("table.sortable")).first

    heads = wide.locator("thead th")
    edge = wide.evaluate("x => x.getBoundingClientRect().right")
    rights = heads.evaluate_all("all => all.map(x => x.getBoundingClientRect().right)")
    seen = sum(right <= edge for right in rights)
    said = page.locator(".more", has_text="columns fit").first.inner_text()

    assert 0 < seen < len(rights)
    assert said.startswith(f"{seen} of {len(rights)} columns fit: scroll the table sideways")
    wide.evaluate("x => x.scrollTo(x.scrollWidth, 0)")
    assert heads.last.evaluate("x => x.getBoundingClientRect().right") <= edge


def test_the_word_about_columns_follows_the_window(visit, few_report):
    page = opened(visit, few_report, 1_440)
    hint = page.locator("h3 + .more").first
    assert hint.is_hidden()

    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("() => !document.querySelector('h3 + .more').hidden")

    page.set_viewport_size({"width": 1_440, "height": 900})
    page.wait_for_function("() => document.querySelector('h3 + .more').hidden")


def test_heads_stay_in_sight_while_the_page_scrolls(visit, many_report):
    page = opened(visit, many_report, 1_440)
    row = page.locator("table.sortable").first.locator("tbody tr").nth(45)

    row.evaluate("x => x.scrollIntoView({block: 'center'})")

    head = page.locator("table.sortable").first.locator("thead th").nth(3)
    assert head.evaluate("x => x.getBoundingClientRect().top") == pytest.approx(0, abs=1)
    assert covers(page, head)


def test_heads_and_names_stay_in_sight_while_the_table_scrolls(visit, many_report):
    page = opened(visit, many_report, 900)
    wide = page.locator(".wide", has=page.locator("table.sortable")).first
    wide.evaluate("x => x.scrollIntoView()")

    row = "x.querySelectorAll('tbody tr')[20]"
    wide.evaluate(f"x => x.scrollTo(x.scrollWidth, {row}.offsetTop - x.clientHeight / 2)")
    assert wide.evaluate("x => x.scrollTop") > 100

    top, left = wide.evaluate(
        "x => [x.getBoundingClientRect().top, x.getBoundingClientRect().left]"
    )
    last = wide.locator("thead th").last
    assert last.evaluate("x => x.getBoundingClientRect().top") == pytest.approx(top, abs=2)
    name = wide.locator("tbody th").nth(20)
    assert name.evaluate("x => x.getBoundingClientRect().left") == pytest.approx(left, abs=2)
    assert covers(page, last)
    assert covers(page, name)
    assert wide.evaluate("x => x.getBoundingClientRect().height") <= 0.9 * 900 + 2


@pytest.mark.parametrize("width", [900, 1_440])
def test_what_the_keyboard_reaches_is_not_below_the_heads(visit, many_report, width):
    page = opened(visit, many_report, width)
    buttons = page.locator("table.sortable").first.locator("button.pick")
    row = buttons.nth(10)
    row.evaluate("x => x.closest('.wide').scrollIntoView()")
    row.evaluate(
        "x => (x.closest('.fits') ? window : x.closest('.wide')).scrollBy(0, "
        "x.getBoundingClientRect().top - 20)"
    )
    buttons.nth(11).evaluate("x => x.focus({preventScroll: true})")
    assert not covers(page, row)

    page.keyboard.press("Shift+Tab")

    assert row.evaluate("x => x === document.activeElement")
    assert covers(page, row)


def covers(page, cell) -> bool:
    """Whether a cell is on top of what scrolls below it."""
    return cell.evaluate("""x => {
        const box = x.getBoundingClientRect();
        const found = document.elementFromPoint(box.left + box.width / 2, box.bottom - 4);
        return x.contains(found);
    }""")


def test_the_keyboard_scrolls_a_wide_table(visit, few_report):
    page = opened(visit, few_report, 900)
    wide = page.locator(".wide", has=page.locator("table.sortable")).first

    wide.focus()
    page.keyboard.press("ArrowRight")

    page.wait_for_function("() => document.querySelector('.wide').scrollLeft > 0")


@pytest.mark.parametrize("width", [400, 1_440])
@pytest.mark.parametrize("chart", ["pareto-1", "each-1"])
def test_a_legend_names_every_strategy(visit, many_report, chart, width):
    page = opened(visit, many_report, width)
    page.wait_for_selector(f"#{chart} svg", timeout=30_000)

    texts = set(page.locator(f"#{chart} svg .role-legend-label text").all_text_contents())

    assert texts == {f"strategy_{at}" for at in range(MANY_STRATEGIES)}


def printed(visit, path):
    page = opened(visit, path, PAPER_PIXELS)
    page.emulate_media(media="print")
    return page


def test_a_print_shows_every_table_within_the_paper(visit, wide_page):
    page = printed(visit, wide_page)

    tables = page.locator("table").evaluate_all(
        "all => all.map(x => [x.scrollWidth, x.offsetHeight])"
    )
    cut = page.locator(".matrix :is(td, th)").evaluate_all(
        "all => all.filter(x => x.scrollWidth > x.clientWidth + 1).map(x => x.textContent)"
    )

    assert all(width <= PAPER_PIXELS and height > 0 for width, height in tables)
    assert cut == []
    assert page.locator(".more:visible").count() == 0


def test_a_print_opens_what_is_folded_on_the_screen(visit, few_report):
    page = printed(visit, few_report)
    page.evaluate("document.querySelectorAll('details').forEach(x => x.open = false)")

    heights = page.locator("details .matrix").evaluate_all(
        "all => all.map(x => x.checkVisibility({contentVisibilityAuto: true}) && x.offsetHeight)"
    )

    assert heights
    assert all(height > 100 for height in heights)
