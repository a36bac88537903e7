"""The tools of a research desk: a search engine and a reader over `site/`, notes, checks.

The index is real (BM25 over all pages), and so is every check; nothing here knows the task.
"""

import json
import math
import re
from collections import Counter
from pathlib import Path

PART_CHARS = 6000
K1, B, TITLE_WEIGHT = 1.2, 0.75, 3
AMERICAN = (
    "analyze",
    "behavior",
    "center",
    "color",
    "favor",
    "kilometer",
    "labor",
    "liter",
    "percent",
    "prioritize",
    "program",
)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _load(root: Path, name: str) -> dict:
    return json.loads((root / "site" / f"{name}.json").read_text("utf-8"))


def _page(root: Path, url: str) -> str:
    return (root / "site" / f"{url.removeprefix('https://')}.md").read_text("utf-8")


def _content(root: Path, url: str) -> str:
    return _page(root, url).split("\n\n## Others also read")[0]


def _state(root: Path, name: str) -> list:
    path = root / "desk" / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else []


def _save(root: Path, name: str, rows: list) -> None:
    path = root / "desk" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def _scores(root: Path, query: str) -> list[tuple[float, str]]:
    counts = {}
    for url, fields in _load(root, "index").items():
        words = _words(fields["title"]) * TITLE_WEIGHT + _words(_content(root, url))
        counts[url] = Counter(words)
    mean = sum(c.total() for c in counts.values()) / len(counts)
    scores: Counter[str] = Counter()
    for word in sorted(set(_words(query))):
        having = sum(word in c for c in counts.values())
        weight = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
        for url, c in counts.items():
            length = K1 * (1 - B + B * c.total() / mean)
            scores[url] += weight * c[word] * (K1 + 1) / (c[word] + length)
    return sorted(((round(-s, 2), url) for url, s in scores.items() if s > 0))


def _snippet(text: str, query: str) -> str:
    wanted = set(_words(query))
    body = text.split("\n\n", 1)[1]
    parts = (" ".join(s.split()) for s in re.split(r"(?<=[.!?:])\s+|\n\n+", body))
    return max(filter(None, parts), key=lambda s: (len(wanted & set(_words(s))), -len(s)))[:200]


def search(root: Path, query: str, limit: int = 6) -> str:
    """Search the web. Answers title, address, date, kind and the sentence that fits best."""
    index = _load(root, "index")
    found = _scores(root, query)
    lines = [f"{len(found)} pages; best {min(limit, len(found))}:"]
    for rank, (score, url) in enumerate(found[:limit], 1):
        fields = index[url]
        lines += [
            f"{rank}. {fields['title']}",
            f"   {url}",
            f"   {fields['date']}, {fields['kind']}, score {-score:.2f}",
            f"   {_snippet(_content(root, url), query)}",
        ]
    return "\n".join(lines)


def fetch(root: Path, url: str, part: int = 1) -> str:
    """Read a page as text. Long pages come in parts; the last line says whether there are more."""
    index, moved = _load(root, "index"), _load(root, "moved")
    url, head = url.rstrip("/"), ""
    if url in moved:
        head, url = f"301 Moved Permanently: {url} -> {moved[url]}\n", moved[url]
    if url not in index:
        return f"404 Not Found: {url}"
    fields, text = index[url], _page(root, url)
    parts = [text[k : k + PART_CHARS] for k in range(0, len(text), PART_CHARS)]
    if not 1 <= part <= len(parts):
        raise ValueError(f"part {part} of {url} does not exist, there are {len(parts)}")
    seen = _state(root, "fetched")
    _save(root, "fetched", sorted({*seen, url}))
    updated = f"\nUpdated: {fields['updated']}" if "updated" in fields else ""
    head += (
        f"200 OK {url}\nTitle: {fields['title']}\nAuthor: {fields['author']}\n"
        f"Published: {fields['date']}{updated}\n"
    )
    return f"{head}\n{parts[part - 1]}\n[part {part} of {len(parts)}]"


def save_note(root: Path, title: str, text: str, url: str = "", tag: str = "") -> str:
    """Keep a note; answers its number."""
    rows = _state(root, "notes")
    number = f"N-{len(rows) + 1:02d}"
    rows.append({"number": number, "title": title, "text": text, "url": url, "tag": tag})
    _save(root, "notes", rows)
    return f"saved {number}: {title}"


def list_notes(root: Path, tag: str = "") -> str:
    """List the notes, all or those of a tag."""
    rows = [row for row in _state(root, "notes") if tag in ("", row["tag"])]
    lines = [
        f"{row['number']} [{row['tag'] or '-'}] {row['title']}: {row['text']}"
        + (f" <{row['url']}>" if row["url"] else "")
        for row in rows
    ]
    return "\n".join(lines) or "no notes"


def check_quote(root: Path, url: str, quote: str) -> str:
    """Tell whether a quotation stands word for word on a page (line breaks do not matter)."""
    if url not in _load(root, "index"):
        return f"404 Not Found: {url}"
    text = " ".join(_page(root, url).split())
    wanted = " ".join(quote.split())
    if wanted in text:
        start = text.index(wanted)
        return f"verbatim, after: ...{text[max(0, start - 60) : start]}"
    words = wanted.split()
    good = max(
        (n for n in range(len(words) + 1) if " ".join(words[:n]) in text),
        default=0,
    )
    return f"NOT verbatim: agrees for {good} of {len(words)} words, then differs"


def check_brief(root: Path, path: str) -> str:
    """Check a brief: words, quotations (word for word, number per source), sources, spelling.

    A quotation is "text" [n]; a source is a line `[n] ... URL (accessed ...)` below `## Sources`.
    """
    body, _, tail = (root / path).read_text("utf-8").partition("## Sources")
    seen, index = _state(root, "fetched"), _load(root, "index")
    sources = dict(re.findall(r"^\[(\d+)\].*?(https://\S+)", tail, re.M))
    flat = " ".join(body.split())
    quotes = re.findall(r'"([^"]+)" \[(\d+)\]', flat)
    problems = []
    for text, number in quotes:
        url = sources.get(number, "")
        page = " ".join(_page(root, url).split()) if url in index else ""
        if text.rstrip(".,") not in page:
            problems.append(f'quotation not found in [{number}]: "{text[:60]}"')
    for number, url in sources.items():
        if url not in index:
            problems.append(f"[{number}] no such page: {url}")
        elif url not in seen:
            problems.append(f"[{number}] was never read: {url}")
        if f"[{number}]" not in flat:
            problems.append(f"[{number}] is listed but not cited")
    for number in sorted(set(re.findall(r"\[(\d+)\]", flat)) - set(sources), key=int):
        problems.append(f"[{number}] is cited but not listed")
    found = set(re.findall(r"[a-z]+", flat.lower())) & set(AMERICAN)
    problems += [f"American spelling: {word}" for word in sorted(found)]
    words = len(re.findall(r"[A-Za-z0-9][\w.,'%-]*", body))
    counts = Counter(number for _, number in quotes)
    per_source = ", ".join(f"[{n}] {counts[n]}" for n in sorted(counts, key=int))
    lines = [f"words without sources: {words}", f"quotations: {len(quotes)} ({per_source})"]
    lines += [f"sources: {len(sources)}", f"problems: {len(problems)}"]
    return "\n".join([*lines, *(f"- {problem}" for problem in problems)])
