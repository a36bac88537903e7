"""Numbers, units and dates in one notation, so that equal quantities are equal text.

`canonical_text` also undoes what hides a value from a plain search: width forms, markdown emphasis,
JSON string escapes and line wraps. Nothing is converted: 1000 ms stays different from 1 s.
"""

import re
import unicodedata
from decimal import Decimal

OPEN, CLOSE = "\ue000", "\ue001"
"""Enclose a canonical quantity, as `number` or `number|unit`; private-use, so never in input."""

CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
"""Ranges of a character class: scripts without spaces, beside which a value needs no boundary."""

WORD = rf"(?:[^\W{CJK}]|[\u0300-\u036f])"
"""A character that continues a token of a spaced script, or an accent on one."""

_UNIT_NAMES = {
    "s": "s sec secs second seconds sekunde sekunden 秒 秒钟",
    "ms": "ms msec msecs millisecond milliseconds millisekunden 毫秒",
    "us": "us \u03bcs microsecond microseconds 微秒",
    "min": "min mins minute minutes minuten 分钟",
    "h": "h hr hrs hour hours stunde stunden 小时",
    "d": "d day days tag tage tagen 天",
    "wk": "week weeks woche wochen 周",
    "mo": "month months monat monate 个月",
    "y": "year years jahr jahre",
    "m": "m",
    "%": "% percent pct prozent",
    "B": "b byte bytes 字节",
    "usd": "$ us$ usd dollar dollars 美元",
    "eur": "€ eur euro euros 欧元",
    "gbp": "£ gbp",
    "cny": "cny rmb yuan 元 人民币",
    "¥": "¥ jpy yen 円",
}
_SAME_NAMES = "kb mb gb tb kib mib gib tib kbps mbps gbps px hz khz mhz ghz kg km cm mm"
_UNITS = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
_UNITS |= {name: name for name in _SAME_NAMES.split()}
_BITS = {"Kb": "kbit", "Mb": "mbit", "Gb": "gbit"}
"""Only this exact case means bits; every other spelling of a unit is folded."""

_MONTH_NAMES = "jan feb mar,mär apr may,mai jun jul aug sep oct,okt nov dec,dez"
_MONTHS = {
    prefix: month
    for month, prefixes in enumerate(_MONTH_NAMES.split(), 1)
    for prefix in prefixes.split(",")
}
_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz?|apr(?:il)?|may|mai|june?|juni|july?"
    r"|juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\.?"
)
_LATIN_UNITS = "|".join(
    sorted((re.escape(n) for n in _UNITS if not re.match(f"[{CJK}]", n)), key=len, reverse=True)
)
_LONG_UNITS = "|".join(
    sorted((name for name in _UNITS if name.isascii() and name[1:].isalpha()), key=len)[::-1]
)
_CJK_UNITS = "|".join(
    sorted((name for name in _UNITS if re.match(rf"[{CJK}]", name)), key=len)[::-1]
)
_LEFT = rf"(?<!{WORD})(?<!{WORD}[.\-])(?<![0-9]/)"
_RIGHT = rf"(?!{WORD})(?![.\-]{WORD})(?!/[0-9])(?!,[0-9]{{1,2}}(?![0-9]))"
_NUMERAL = re.compile(
    rf"""(?=[-0-9$€£¥]|US|EUR|RMB)(?i:
    (?P<year>(?<![\w./-])[0-9]{{4}})(?P<mark>[-/.])(?P<month>[0-9]{{1,2}})(?P=mark)
        (?P<day>[0-9]{{1,2}})(?=T[0-9]|(?![\w/-])(?!\.[0-9]))
  | (?P<year_cjk>(?<!{WORD})[0-9]{{4}})\s?年\s?(?P<month_cjk>[0-9]{{1,2}})\s?月\s?
        (?P<day_cjk>[0-9]{{1,2}})\s?[日号]
  | {_LEFT}(?P<day_first>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?(?P<month_mid>{_MONTH}),?\s
        (?P<year_last>[0-9]{{4}})(?!\w)
  | {_LEFT}(?P<day_dot>[0-9]{{1,2}})\.(?P<month_dot>[0-9]{{1,2}})\.(?P<year_dot>[0-9]{{4}})
        (?![\w.])
  | (?P<opaque>{_LEFT}(?:[0-9]+(?:\.[0-9]+){{2,}}
        |[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?(?![0-9:])))
  | (?:(?P<currency>(?<!\w)(?:US\$|USD\s|EUR\s|RMB\s)|[$€£¥])\s?|{_LEFT})
    (?P<sign>(?<![\w.)\]])-)?
    (?P<number>(?>[0-9]{{1,3}}(?P<group>[,_'\ ])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*(?![0-9])
        (?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+|,[0-9]{{1,2}}(?=\s?(?:(?:{_LONG_UNITS})(?!\w)|[€$£]))
        |(?(currency),[0-9]{{2}}(?![0-9,])|(?!)))?))
    (?P<scale>\s?万|k(?!\w)|\s(?:thousand|million)(?!\w))?
    (?:\s?(?P<unit_cjk>{_CJK_UNITS})
      |(?:[\ ]?(?P<unit>{_LATIN_UNITS})|[\n-](?P<unit_far>{_LONG_UNITS}))
        (?!{WORD})(?!\s?[:=])(?![.\-]{WORD})(?P<per>/s(?:ec)?(?!\w))?
      |{_RIGHT})
    )""",
    re.VERBOSE,
)
_MONTH_FIRST = re.compile(
    rf"(?i)\b(?=[adfjmnos])(?P<month>{_MONTH})\s(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s"
    r"(?P<year>[0-9]{4})(?!\w)"
)
_SCALES = {"k": 1_000, "thousand": 1_000, "万": 10_000, "million": 1_000_000}


def _iso(year: str, month: str, day: str) -> str | None:
    number = _MONTHS.get(month[:3].lower(), 0) if month[0].isalpha() else int(month)
    if not (1 <= number <= 12 and 1 <= int(day) <= 31):
        return None
    return f"{year}-{number:02}-{int(day):02}"


def _date_of(match: re.Match[str]) -> str | None:
    for suffixes in (("", "", ""), ("_cjk",) * 3, ("_last", "_mid", "_first"), ("_dot",) * 3):
        year = match[f"year{suffixes[0]}"]
        if year:
            date = _iso(year, match[f"month{suffixes[1]}"], match[f"day{suffixes[2]}"])
            return date and f"{OPEN}{date}{CLOSE}"
    return None


def _unit_of(match: re.Match[str]) -> str:
    written = (match["unit"] or match["unit_far"] or match["unit_cjk"] or "").strip()
    unit = _BITS.get(written) or _UNITS.get(written.lower(), "")
    currency = _UNITS.get((match["currency"] or "").strip().lower(), "")
    if currency and unit != currency:
        unit = currency + unit
    return unit + ("/s" if match["per"] else "")


_JOINED_BY_COMMA = re.compile("(?<![0-9])[0-9]{1,3},$")
"""Before a number, as in `5,5000`: mistyped thousands rather than two entries of a list."""


def _canonical_numeral(match: re.Match[str]) -> str:
    if match["opaque"]:
        return match[0]
    if not match["number"]:
        return _date_of(match) or match[0]
    digits = match["number"]
    if _JOINED_BY_COMMA.search(match.string[max(0, match.start() - 5) : match.start()]):
        return match[0]
    if len(digits) <= 3 and re.match(",[0-9]", match.string[match.end() : match.end() + 2]):
        return match[0]
    separator = match["group"]
    if separator:
        digits = digits.replace(separator, "")
    digits = digits.replace(",", ".")
    unit = _unit_of(match)
    scale = (match["scale"] or "").strip().lower()
    if scale or unit:
        value = Decimal(digits) * _SCALES.get(scale, 1)
        digits = f"{value:f}"
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    sign = match["sign"] or ""
    return f"{OPEN}{sign}{digits}|{unit}{CLOSE}" if unit else f"{OPEN}{sign}{digits}{CLOSE}"


_NOT_PLAIN = re.compile("[^²³¹¼-¾⁰-₟⅐-⅟①-⓿❶-➓㈠-㏿]+")
"""Runs that compatibility folding may touch: it would turn the square of 10 into 102."""
_DROPPED = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ue000\ue001]")
_ESCAPE = re.compile(r'\\(?:(["\\/nrt])|u([0-9a-fA-F]{4}))')
_ESCAPED = {"n": "\n", "r": "\n", "t": "\t"}


def unescape_json(text: str) -> str:
    """Decode the escapes of JSON strings, up to three levels deep, in text that holds quotes."""
    for _ in range(3):
        if '"' not in text or not _ESCAPE.search(text):
            return text
        text = _ESCAPE.sub(
            lambda match: chr(int(match[2], 16)) if match[2] else _ESCAPED.get(match[1], match[1]),
            text,
        )
    return text


_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def fold_digits(text: str) -> str:
    """Write the decimal digits of every script as 0 to 9."""
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def _fold_width(text: str) -> str:
    if not text.isascii():
        text = _DROPPED.sub("", text)
        text = _NOT_PLAIN.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
        text = fold_digits(text)
        text = text.translate({0x2212: "-", 0x2013: "-", 0x2010: "-", 0x2019: "'", 0x130: "I"})
    return text


_STRUCK = re.compile(r"~~([^~\n]{1,200})~~")
_EMPHASIS = re.compile(
    r"`+|(?<![\w*/.\\])\*{1,3}(?=[\w\"'\[($])|(?<=[^\s*/])\*{1,3}(?![\w*/.])|(?m:^[ \t]*(?:> ?)+)"
)
_UNDERLINED = re.compile(r"(?<![\w])_{1,2}([^_\n]{0,200}[\s0-9][^_\n]{0,200})_{1,2}(?![\w.(])")
_SPACES = re.compile(r"[^\S\n]*\n\s*|[^\S\n]+")


def _collapse(match: re.Match[str]) -> str:
    return "\n\n"[: match[0].count("\n")] or " "


def canonical_text(text: str) -> str:
    """Fold width, markup, whitespace runs, numbers, units and dates of a text or of a form.

    Single line breaks stay, several become two.
    """
    text = _fold_width(text)
    if "~~" in text:
        text = _STRUCK.sub(r" no longer \1 ", text)
    text = _EMPHASIS.sub("", text)
    if "_" in text:
        text = _UNDERLINED.sub(r"\1", text)
    text = _SPACES.sub(_collapse, text)
    text = re.sub(r"(?<!\w)[vV](?=[0-9]+\.[0-9])", "", text)
    text = _MONTH_FIRST.sub(
        lambda match: _iso(match["year"], match["month"], match["day"]) or match[0], text
    )
    return _NUMERAL.sub(_canonical_numeral, text)
