"""One self-contained HTML page: opens offline, loads nothing, holds no conversation text.

Scripts run only if their digest is in the page's content-security policy, and no text becomes code:
Vega evaluates expressions with its interpreter. The same run gives the same bytes.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from reports.answer import answers, best_setting
from reports.charts import Layered, pareto
from reports.frames import Run
from reports.league import COLUMNS, Block, blocks, ranked
from reports.matched import EXPLANATION, TRUNCATE
from reports.story import CAVEATS, definitions, failures, footer, headline, transcripts, violations
from reports.timeline import timeline
from reports.wording import MISSING, clean, count, kilo, percent, plural

MAX_SHORT_CHARS: Final = 60
"""Names in the wide table of transcripts."""
PARETO_CAPTION: Final = (
    "Each point is a setting; further right and higher up is better. Broad line: settings that no "
    "other one beats in both. Dash joined to a point: plain truncation at the same saving on the "
    "same transcripts; a point below its dash loses more than truncation. Dashed line: truncation "
    "at any saving, if there is one transcript. Grey points: controls. Hover for numbers."
)
TIMELINE_CAPTION: Final = (
    "One transcript under one setting. Across: requests. Down: messages, oldest on top. A cross: "
    "a need over a long gap was lost at that request."
)


class Titled(NamedTuple):
    title: str
    definition: str


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
class Section:
    """What the page shows of one provenance."""

    title: str
    block: Block
    charts: tuple[Chart, ...]
    labels: tuple[str, ...]
    transcripts: tuple[TranscriptLine, ...]


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
        answers=answers(run),
        caveats=CAVEATS,
        columns=list(_columns(run)),
        definitions=list(definitions(run)),
        faults=_faults(run),
        footer=footer(run),
        headline=headline(run),
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
    title = (
        f"{clean(block.provenance).capitalize()}: {plural(block.n_transcripts, 'transcript')} "
        f"in {plural(block.n_clusters, 'session')}"
    )
    shown = tuple(clean(label, MAX_SHORT_CHARS) for label in labels)
    lines = tuple(_transcript_lines(run, block.provenance, labels))
    return Section(title, block, tuple(charts), shown, lines)


def _charts(run: Run, block: Block) -> Iterator[tuple[Chart, Layered]]:
    number = run.provenances.index(block.provenance) + 1
    drawn = pareto(run, block.provenance)
    if drawn is not None:
        title = f"Saving against reach, n = {plural(block.n_transcripts, 'transcript')}."
        yield Chart(f"pareto-{number}", title, PARETO_CAPTION), drawn
    row = _shown_cell(run, block.provenance)
    drawn = None if row is None else timeline(run.sidecar(str(row["cell_id"])))
    if row is not None and drawn is not None:
        title = f"Context of {clean(row['transcript'])} under {clean(row['label'])}."
        yield Chart(f"timeline-{number}", title, TIMELINE_CAPTION), drawn


def _shown_cell(run: Run, provenance: str) -> Mapping[str, Any] | None:
    """Return the longest engaged cell of the recommended setting, else of the first engaged one."""
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["engaged"]]
    rows = rows[~rows["is_control"] & rows["scored"]]
    if rows.empty:
        return None
    best = best_setting(run, provenance)
    first = ranked(run.settings()[run.settings()["provenance"] == provenance])["label"].iloc[0]
    chosen = rows[rows["label"] == (first if best is None else best["label"])]
    longest = (rows if chosen.empty else chosen).nlargest(1, "requests").to_dict("records")[0]
    return {str(name): value for name, value in longest.items()}


def _transcript_lines(run: Run, provenance: str, labels: Sequence[str]) -> Iterator[TranscriptLine]:
    rows = run.rows[run.rows["provenance"] == provenance]
    scored = rows[rows["scored"]].groupby(["key", "label"])[["reach", "saving_fraction"]].mean()
    known = {key: (reach, saved) for key, reach, saved in scored.itertuples(name=None)}
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


def _cell(values: tuple[float, float] | None, *, is_failed: bool) -> tuple[str, str]:
    if values is None:
        return ("error", "") if is_failed else (MISSING, "")
    reach, saved = values
    return percent(reach, 0), percent(saved, 0)


def _columns(run: Run) -> Iterator[Titled]:
    meanings = {metric["name"]: metric["definition"] for metric in run.manifest.get("metrics", ())}
    for column in COLUMNS:
        yield Titled(column.title, clean(meanings.get(column.metric, ""), 2_000))


def _faults(run: Run) -> tuple[tuple[str, Any, str], ...]:
    return (
        ("Failed cells", failures(run), "No cell failed."),
        (
            "Broken rules",
            violations(run),
            "No strategy broke an invariant on any request of any transcript.",
        ),
    )


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
