"""Where the dollars go: cached, written, uncached and output tokens, own calls, retrievals."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from reports.charts import CHOSEN, GREY, OKABE_ITO, WIDTH_PIXELS, if_chosen
from reports.frames import Run
from reports.wording import clean

KINDS: Final = {
    "read": "read from the cache",
    "written": "written to the cache",
    "uncached": "uncached input",
    "output": "output",
    "own_calls": "own model calls",
    "retrievals": "fetched again, if all is",
}
"""Kind in a sidecar -> its name in the chart, in the order of the bars."""
UNCOMPACTED: Final = "no compaction"
MAX_SETTINGS: Final = 12
MAX_TRANSCRIPTS: Final = 200
BAR_PIXELS: Final = 30
_LABELS: Final = alt.Axis(
    labelLimit=320,
    labelExpr="split(replace(datum.label, '(', '\\n('), '\\n')",
    labelBaseline={  # of the first line
        "condition": {"test": "indexof(datum.label, '(') < 0", "value": "middle"},
        "value": "bottom",
    },
)
"""A setting in two lines: its parameters below its strategy."""


def breakdown(run: Run, provenance: str, labels: Sequence[str]) -> pd.DataFrame:
    """Return setting, kind and USD, summed over the transcripts that every setting was scored on.

    Args:
        run: What was run.
        provenance: Of which transcripts.
        labels: Settings, at most `MAX_SETTINGS` of them; "no compaction" is put before them.

    Returns:
        Columns `setting`, `kind`, `usd`, `order`; empty where nothing was priced.
    """
    rows = _priced(run, provenance)
    chosen, common = _known(rows, labels), transcripts_of(run, provenance, labels)
    before: Counter[str] = Counter()
    lines = []
    for at, label in enumerate(chosen):
        after: Counter[str] = Counter()
        mine = rows[(rows["label"] == label) & rows["key"].isin(common)]
        for cell_id in mine.drop_duplicates("key")["cell_id"]:
            cost = run.sidecar(str(cell_id)).get("cost", {})
            after.update(_usd(cost, "after_usd"))
            if at == 0:
                before.update(_usd(cost, "before_usd"))
        lines += _lines(clean(label), after)
    lines = [*_lines(UNCOMPACTED, before), *lines] if lines else []
    return pd.DataFrame(lines, columns=["setting", "kind", "usd", "order"])


def transcripts_of(run: Run, provenance: str, labels: Sequence[str]) -> Sequence[str]:
    """Return the keys of the transcripts that `breakdown` sums over."""
    rows = _priced(run, provenance)
    keys = [set(rows.loc[rows["label"] == label, "key"]) for label in _known(rows, labels)]
    return sorted(set.intersection(*keys))[:MAX_TRANSCRIPTS] if keys else []


def cost_breakdown(data: pd.DataFrame) -> alt.Chart | None:
    """Draw a stacked bar for each setting; None if nothing was priced."""
    if data.empty or not data["usd"].sum():
        return None
    order = list(dict.fromkeys(data["setting"]))
    present = [name for name in KINDS.values() if (data["kind"] == name).any()]
    colours = dict(zip(KINDS.values(), (*OKABE_ITO[:5], GREY), strict=True))
    values = [
        {str(key): value for key, value in line.items()}
        for line in data.round({"usd": 6}).to_dict("records")
    ]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            x=alt.X("usd:Q", title="USD", stack="zero", axis=alt.Axis(tickCount=5)),
            y=alt.Y("setting:N", title=None, sort=order, axis=_LABELS),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=present, range=[colours[name] for name in present]),
                legend=alt.Legend(orient="bottom", title=None, columns=3, labelLimit=260),
            ),
            order=alt.Order("order:Q"),
            opacity=if_chosen(),
            tooltip=[
                alt.Tooltip("setting:N"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("usd:Q", title="USD", format=".4f"),
            ],
        )
        .properties(width=WIDTH_PIXELS, height=BAR_PIXELS * len(order), background="transparent")
    )
    chosen = chart.add_params(alt.param(name=CHOSEN, value=""))
    configured: alt.Chart = chosen.configure_view(stroke=None)
    return configured


def _priced(run: Run, provenance: str) -> pd.DataFrame:
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
    return rows[rows["cost_after_usd"].notna()]


def _known(rows: pd.DataFrame, labels: Sequence[str]) -> list[str]:
    return [label for label in labels if (rows["label"] == label).any()][:MAX_SETTINGS]


def _usd(cost: Mapping[str, Any], side: str) -> Counter[str]:
    found = cost.get(side, {})
    return Counter({kind: float(found.get(kind, 0.0)) for kind in KINDS})


def _lines(setting: str, usd: Mapping[str, float]) -> list[tuple[str, str, float, int]]:
    return [
        (setting, name, usd[kind], at) for at, (kind, name) in enumerate(KINDS.items()) if usd[kind]
    ]
