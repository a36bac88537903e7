"""The page of a large run stays small enough to send to somebody."""

import json
from pathlib import Path

import pytest

from evals.results import RunFolder
from reports.frames import load
from reports.page import html
from reports.wording import clean
from tests.reports_cases import long_sidecar, row, write_run

MAX_BYTES = 1_500_000
ORDERED_BEFORE = ("pareto-1", "pareto-usd-1", "league-1", "sweep-1-1", "each-1", "timeline-1")


def write_run_quickly(path: Path, rows: list) -> Path:
    """Write the rows at once: ten thousand synced appends take long."""
    write_run(path, [], cells=[item.cell_id for item in rows])
    lines = (json.dumps(item.to_json()) for item in rows)
    (path / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_two_hundred_transcripts_under_fifty_settings_are_below_a_megabyte_and_a_half(tmp_path):
    """With prices, controls, sixteen sizes of truncation and the longest timeline."""
    settings = [
        (f"xun(token_threshold={share}%, toolcall_keep_max={keep})", share, keep)
        for share in range(20, 70, 10)
        for keep in range(1, 11)
    ]
    rows = []
    for at in range(200):
        name = f"a-session-with-a-long-name-{at:03d}"
        common = {"needs": 20 + at % 60, "cost_before_usd": 2.0, "requests": 1_000 - at}
        rows += [
            row(
                name,
                label,
                strategy="xun",
                parameters={"token_threshold": f"{share}%", "toolcall_keep_max": str(keep)},
                saving=(90 - share + at % 7) / 100,
                reach=(share + 3 * keep - at % 11) / 100,
                lost=at % 13,
                cost_after_usd=1 + at % 17 / 10,
                cell_id=f"{at}-{share}-{keep}",
                **common,
            )
            for label, share, keep in settings
        ]
        rows += [
            row(
                name,
                f"truncate(keep_tokens={5 * size}%)",
                saving=1 - size / 17,
                reach=size / 17,
                is_control=True,
                cell_id=f"{at}-truncate-{size}",
                **common,
            )
            for size in range(1, 17)
        ]
        rows += [
            row(name, label, saving=0.5, reach=0.3, is_control=True, cell_id=f"{at}-{label}")
            for label in ("identity", "drop_all", "random_drop", "salad")
        ]
    path = write_run_quickly(tmp_path / "run", rows)
    sidecar = long_sidecar(1_000, lost_from=100)
    costs = {"read": 0.5, "written": 0.4, "output": 0.2, "own_calls": 0.1, "uncached": 0.1}
    for _, share, keep in settings:
        cost = {"before_usd": costs, "after_usd": costs}
        RunFolder(path).write_sidecar(f"0-{share}-{keep}", {**sidecar, "cost": cost})

    page = html(load(path))

    parts = [
        'class="answer"',
        *(f'id="{name}"' for name in ORDERED_BEFORE),
        "<h2>Failures and broken rules",
        "<h2>Recorded compactions",
        'id="cost-1"',
        "<h2>Self-checks",
        "<h2>How this was made",
    ]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert all(clean(label) in page for label, _, _ in settings)
    assert page.count('<th scope="row"><bdi>a-session') == 200
    assert len(page.encode()) < MAX_BYTES
