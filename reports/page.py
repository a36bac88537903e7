"""One self-contained HTML page: opens offline and loads nothing.

It holds no text of a conversation, but for the lost needs of a run made with `--show-text`.
Scripts run only if their digest is in the page's content-security policy, and no text becomes code:
Vega evaluates expressions with its interpreter. The same run gives the same bytes.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from reports import asked
from reports.answer import answers
from reports.columns import Column
from reports.costs import cost_blocks, price_lines, priced_as
from reports.faults import alarm, fault_groups, rules_of
from reports.frames import Run
from reports.league import Block, blocks, ranked
from reports.lost import HEADS, HOW_TO, LostNeeds, is_text_shown, lost_of
from reports.matched import EXPLANATION, TRUNCATE
from reports.needs_table import TITLE as NEEDS_TITLE
from reports.needs_table import NeedsTable, needs_table
from reports.page_charts import Chart, Drawn, charts_of
from reports.recorded import HEADS as RECORDED_HEADS
from reports.recorded import recorded_compactions
from reports.self_checks import self_checks
from reports.small_multiples import PIXELS
from reports.story import CAVEATS, definitions, footer, headline, transcripts
from reports.summaries import HEADS as SUMMARY_HEADS
from reports.summaries import NOTE as SUMMARIES_NOTE
from reports.summaries import TITLE as SUMMARIES_TITLE
from reports.summaries import summaries
from reports.validity import HEADS as STATUS_HEADS
from reports.validity import TITLE as VALIDITY_TITLE
from reports.wording import MISSING, clean, count, kilo, percent, pieces, spans

_SHOWN: Final = ["engaged", "reach", "saving_fraction"]
MAX_SHORT_CHARS: Final = 60
"""Names in the wide table of transcripts."""
IDLE: Final = "n/e"
"""Not engaged, where a cell has room for a number of three digits."""


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
    names: tuple[str, ...]
    """Settings of the table of transcripts, as charts name them."""
    labels: tuple[str, ...]
    """The same, short."""
    transcripts: tuple[TranscriptLine, ...]
    lost: tuple[LostNeeds, ...]
    needs: NeedsTable | None


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
    own = environment.get_template("page.js.j2").render(facet_pixels=PIXELS)
    scripts = [_bundle(), own] if specs else [own]
    return environment.get_template("page.html.j2").render(
        alarm=alarm(run),
        answers=answers(run),
        asked=asked.asked(run),
        asked_heads=asked.HEADS,
        asked_title=asked.TITLE,
        status_heads=STATUS_HEADS,
        validity_title=VALIDITY_TITLE,
        caveats=CAVEATS,
        definitions=list(definitions(run)),
        faults=fault_groups(run),
        checked_rules=rules_of(run),
        recorded=recorded_compactions(run),
        summaries=summaries(run),
        summary_heads=SUMMARY_HEADS,
        summaries_note=SUMMARIES_NOTE,
        summaries_title=SUMMARIES_TITLE,
        recorded_heads=RECORDED_HEADS,
        costs=[(block, tuple(_stacked(block))) for block in cost_blocks(run)],
        checks=self_checks(run),
        footer=footer(run),
        headline=(*headline(run), *price_lines(run)),
        idle=IDLE,
        how_to="" if is_text_shown(run) else HOW_TO,
        lost_heads=HEADS,
        needs_title=NEEDS_TITLE,
        meanings=_meanings(run, sections),
        pieces=pieces,
        spans=spans,
        script_hashes=" ".join(map(_hash, scripts)),
        scripts=scripts,
        sections=sections,
        specs=_json(specs),
        style=environment.get_template("page.css.j2").render(),
        truncation=EXPLANATION,
    )


def _section(run: Run, block: Block, specs: dict[str, Any]) -> Section:
    charts = []
    for chart, drawn in charts_of(run, block):
        specs[chart.name] = _spec(drawn) | ({} if chart.is_facet else {"width": "container"})
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
        tuple(map(clean, labels)),
        shown,
        lines,
        lost_of(run, block.provenance),
        needs_table(run, block.provenance),
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
            priced_as(line["priced_model"], line["price_basis"]),
            percent(line["bill_error_fraction"]),
            percent(line["bill_rule_error_fraction"]),
            percent(line["bill_shown_error_fraction"]),
            percent(line["bill_lost_fraction"]),
        )
        cells = tuple(
            _cell(known.get((key, label)), is_failed=(key, label) in failed) for label in labels
        )
        yield TranscriptLine(clean(line["transcript"], MAX_SHORT_CHARS), facts, cells)


def _cell(values: tuple[bool, float, float] | None, *, is_failed: bool) -> tuple[str, str]:
    if values is None:
        return ("error", "") if is_failed else (MISSING, "")
    is_engaged, reach, saved = values
    return percent(reach, 0) if is_engaged else IDLE, percent(saved, 0)


def _meanings(run: Run, sections: Sequence[Section]) -> dict[str, str]:
    """Return the definition of the metric of each column."""
    shown = {column.metric for section in sections for column in section.columns}
    shown |= {column.metric for block in cost_blocks(run) for column in block.columns}
    return {
        metric["name"]: clean(metric["definition"], 2_000)
        for metric in run.manifest.get("metrics", ())
        if metric["name"] in shown
    }


def _spec(chart: Drawn) -> dict[str, Any]:
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
