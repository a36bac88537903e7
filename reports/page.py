"""One self-contained HTML page: opens offline and loads nothing.

It holds no text of a conversation, but for the lost needs of a run made with `--show-text`.
Scripts run only if their digest is in the page's content-security policy, and no text becomes code:
Vega evaluates expressions with its interpreter. The same run gives the same bytes.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from reports import asked
from reports.answer import answers
from reports.charts import Layered, front, pareto, pareto_points, truncation_line
from reports.columns import NOT_ENGAGED, Column
from reports.faults import alarm, fault_groups
from reports.frames import Run
from reports.league import Block, blocks, ranked
from reports.lost import HEADS, HOW_TO, LostNeeds, is_text_shown, lost_of, shown_label
from reports.matched import EXPLANATION, TRUNCATE
from reports.story import CAVEATS, definitions, footer, headline, transcripts
from reports.timeline import lost_needs, timeline
from reports.wording import MISSING, clean, count, kilo, percent, plural

_SHOWN: Final = ["engaged", "reach", "saving_fraction"]
_BREAKS: Final = re.compile(r"(?<=[(_/,])|(?==)")
"""Where a long name may go on in the next line."""
MAX_SHORT_CHARS: Final = 60
"""Names in the wide table of transcripts."""
PARETO_CAPTION: Final = (
    "Each point is a setting, with the saved and reach of the table; further right and higher up "
    "is better. Dash joined to a point: plain truncation at the same saving on the same "
    "transcripts; a point below its dash loses more than truncation."
)
FRONT_CAPTION: Final = (
    "Broad line: through the filled points that no other filled one beats in both."
)
SMALL_CAPTION: Final = (
    "Small and hollow: measured on fewer than half of the transcripts with needs."
)
TRUNCATION_CAPTION: Final = "Dashed line: truncation at any saving."
CONTROLS_CAPTION: Final = "Grey: controls."
TIMELINE_CAPTION: Final = (
    "One transcript under one setting. Across: requests. Down: messages, oldest on top."
)
CROSS_CAPTION: Final = " A cross: a need over a long gap was lost at that request."


@dataclass(frozen=True, slots=True)
class Chart:
    name: str
    """Identifier in the page."""
    title: str
    caption: str


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    name: str
    facts: tuple[str, ...]
    cells: tuple[tuple[str, str], ...]
    """(reach, saved) per label of the section."""


@dataclass(frozen=True, slots=True)
class Stacked:
    """A cell of the table with what stands below it."""

    text: str
    value: float | None
    below: str


@dataclass(frozen=True, slots=True)
class SettingLine:
    label: str
    is_control: bool
    cells: tuple[Stacked, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What the page shows of one provenance."""

    block: Block
    columns: tuple[Column, ...]
    lines: tuple[SettingLine, ...]
    charts: tuple[Chart, ...]
    labels: tuple[str, ...]
    transcripts: tuple[TranscriptLine, ...]
    lost: tuple[LostNeeds, ...]


def html(run: Run) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    specs: dict[str, Any] = {}
    sections = [_section(run, block, specs) for block in blocks(run)]
    own = environment.get_template("page.js.j2").render()
    scripts = [_bundle(), own] if specs else [own]
    return environment.get_template("page.html.j2").render(
        alarm=alarm(run),
        answers=answers(run),
        asked=asked.asked(run),
        asked_heads=asked.HEADS,
        asked_title=asked.TITLE,
        caveats=CAVEATS,
        definitions=list(definitions(run)),
        faults=fault_groups(run),
        footer=footer(run),
        headline=headline(run),
        how_to="" if is_text_shown(run) else HOW_TO,
        lost_heads=HEADS,
        meanings=_meanings(run),
        pieces=_BREAKS.split,
        script_hashes=" ".join(map(_hash, scripts)),
        scripts=scripts,
        sections=sections,
        specs=_json(specs),
        style=environment.get_template("page.css.j2").render(),
        truncation=EXPLANATION,
    )


def _section(run: Run, block: Block, specs: dict[str, Any]) -> Section:
    charts = []
    for chart, drawn in _charts(run, block):
        specs[chart.name] = {**_spec(drawn), "width": "container"}
        charts.append(chart)
    settings = run.settings()
    of_block = settings[settings["provenance"] == block.provenance]
    labels = ranked(of_block[of_block["strategy"] != TRUNCATE])["label"].tolist()
    shown = tuple(clean(label, MAX_SHORT_CHARS) for label in labels)
    lines = tuple(_transcript_lines(run, block.provenance, labels))
    return Section(
        block,
        tuple(column for column in block.columns if column.below is None),
        tuple(_stacked(block)),
        tuple(charts),
        shown,
        lines,
        lost_of(run, block.provenance),
    )


def _stacked(block: Block) -> Iterator[SettingLine]:
    """Yield the lines of the table, each narrower by the columns that stand below others."""
    for line in block.lines:
        cells: list[Stacked] = []
        for column, cell in zip(block.columns, line.cells, strict=True):
            if column.below is None:
                cells.append(Stacked(cell.text, cell.value, ""))
            elif cell.text != MISSING:
                cells[-1] = replace(cells[-1], below=f"{column.below}{cell.text}")
        yield SettingLine(line.label, line.is_control, tuple(cells))


def _charts(run: Run, block: Block) -> Iterator[tuple[Chart, Layered]]:
    number = run.provenances.index(block.provenance) + 1
    drawn = pareto(run, block.provenance)
    if drawn is not None:
        title = (
            f"Saving against reach, n = {plural(block.n_with_needs, 'transcript')} "
            "with needs over long gaps."
        )
        yield Chart(f"pareto-{number}", title, _pareto_caption(run, block.provenance)), drawn
    row = _shown_cell(run, block.provenance)
    sidecar = {} if row is None else run.sidecar(str(row["cell_id"]))
    drawn = timeline(sidecar)
    if row is not None and drawn is not None:
        title = f"Context of {clean(row['transcript'])} under {clean(row['label'])}."
        caption = TIMELINE_CAPTION + (CROSS_CAPTION if lost_needs(sidecar) else "")
        yield Chart(f"timeline-{number}", title, caption), drawn


def _pareto_caption(run: Run, provenance: str) -> str:
    """Say what is drawn, and nothing that is not."""
    marks = pareto_points(run, provenance)
    filled = marks[~marks["is_control"] & ~marks["is_small"]]
    parts = (
        (PARETO_CAPTION, True),
        (FRONT_CAPTION, len(front(filled)) > 1),
        (SMALL_CAPTION, marks["is_small"].any()),
        (TRUNCATION_CAPTION, len(truncation_line(run, provenance)) > 0),
        (CONTROLS_CAPTION, marks["is_control"].any()),
    )
    return " ".join([*(text for text, is_drawn in parts if is_drawn), "Hover for numbers."])


def _shown_cell(run: Run, provenance: str) -> Mapping[str, Any] | None:
    """Return the longest engaged cell of the recommended setting, else of the first engaged one."""
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["engaged"]]
    rows = rows[rows["scored"] & (rows["label"] == shown_label(run, provenance))]
    if rows.empty:
        return None
    longest = rows.nlargest(1, "requests").to_dict("records")[0]
    return {str(name): value for name, value in longest.items()}


def _transcript_lines(run: Run, provenance: str, labels: Sequence[str]) -> Iterator[TranscriptLine]:
    rows = run.rows[run.rows["provenance"] == provenance]
    known = {
        (key, label): (engaged, reach, saved)
        for label in labels
        for key, engaged, reach, saved in run.each(provenance, label)[_SHOWN].itertuples(name=None)
    }
    failed = set(rows.loc[~rows["scored"], ["key", "label"]].itertuples(index=False, name=None))
    of_each = transcripts(run)
    for key, line in of_each[of_each["provenance"] == provenance].iterrows():
        facts = (
            count(line["requests"]),
            kilo(line["input_tokens_before"]),
            kilo(line["peak_tokens_before"]),
            count(line["needs"]),
            percent(line["calibration_error_fraction"]),
        )
        cells = tuple(
            _cell(known.get((key, label)), is_failed=(key, label) in failed) for label in labels
        )
        yield TranscriptLine(clean(line["transcript"], MAX_SHORT_CHARS), facts, cells)


def _cell(values: tuple[bool, float, float] | None, *, is_failed: bool) -> tuple[str, str]:
    if values is None:
        return ("error", "") if is_failed else (MISSING, "")
    is_engaged, reach, saved = values
    return percent(reach, 0) if is_engaged else NOT_ENGAGED, percent(saved, 0)


def _meanings(run: Run) -> dict[str, str]:
    """Return the definition of each metric, for the heads of the table."""
    return {
        metric["name"]: clean(metric["definition"], 2_000)
        for metric in run.manifest.get("metrics", ())
    }


def _spec(chart: Layered) -> dict[str, Any]:
    """Return the chart as JSON, without the address of its schema."""
    spec: dict[str, Any] = chart.to_dict()
    return {key: value for key, value in spec.items() if key != "$schema"}


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script; comes with vl-convert, offline."""
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _json(value: Any) -> str:
    """Return JSON that can stand in a script element: no text in it ends the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
