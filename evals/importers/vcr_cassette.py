"""vcrpy cassettes: the conversations that their requests to models form.

A request to another API or provider starts a conversation of its own, even if it hands over a
history, because its messages are counted and cached apart. Requests are counted once. vcrpy's own
loader builds any Python object that a cassette names, so `evals.cassettes` reads them.
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.errors import TranscriptError
from evals.cassettes import Interaction, load_cassette
from evals.importers.chains import Chain, chains_of
from evals.importers.exchanges import Exchange, MessageMemo, exchange_of
from evals.importers.files import Head, UnknownFormatError, open_bytes, read_bytes
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.unpacking import Unpacking
from evals.recording.cassette_layout import is_compact
from evals.transcripts import Transcript

FORMAT: Final = "vcr-cassette"
_YAML_START: Final = re.compile(r"^interactions:", re.MULTILINE)


def matches(head: Head) -> bool:
    if head.layout == "text":
        return _YAML_START.search(head.text) is not None
    first = head.values[0] if head.values else None
    return isinstance(first, dict) and (
        is_compact(first)
        or (isinstance(first.get("interactions"), list) and _has_request(first["interactions"]))
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    memo = MessageMemo()
    exchanges = []
    for index, interaction in enumerate(_interactions(path, source)):
        found = exchange_of(interaction, index, memo)
        if isinstance(found, Exchange):
            exchanges.append(found)
        else:
            report.add(found.where, found.reason, expected=found.expected)
    if not exchanges:
        reasons = "; ".join(f"{item.where}: {item.reason}" for item in report.skipped()[:3])
        text = f"{source}: no request to a model ({reasons}); name another cassette"
        raise UnknownFormatError(text)
    chains = chains_of(exchanges)
    names = unique_names(_name(chain, number) for number, chain in enumerate(chains, 1))
    for number, (chain, name) in enumerate(zip(chains, names, strict=True)):
        segments = chain.built()
        messages = [message for segment in segments for message in segment.messages]
        orphans = orphan_results(messages) if len(segments) == 1 else []
        yield Transcript(
            name=name,
            segments=segments,
            source=source,
            format=FORMAT,
            session=source if len(chains) > 1 else None,
            tools=chain.tools,
            skipped=(*(report.skipped() if number == 0 else ()), *orphans),
            includes_reasoning=any(m.reasoning for m in chain.last.messages),
        )


def _name(chain: Chain, number: int) -> str:
    return f"{number} {chain.last.model or chain.last.api}"


def _has_request(interactions: list[object]) -> bool:
    return bool(interactions) and isinstance(interactions[0], dict) and "request" in interactions[0]


def _interactions(path: Path, source: str) -> list[Interaction]:
    with open_bytes(path, source) as file:
        is_packed = isinstance(file, Unpacking)
    if not is_packed:
        return _located(path, path, source)
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder) / "cassette"
        unpacked.write_bytes(read_bytes(path, source))
        return _located(unpacked, path, source)


def _located(path: Path, given: Path, source: str) -> list[Interaction]:
    try:
        return load_cassette(path)
    except TranscriptError as error:
        text = str(error).replace(str(path), source, 1).replace(str(given), source, 1)
        raise TranscriptError(text) from error
