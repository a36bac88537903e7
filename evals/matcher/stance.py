"""Whether a text asserts, negates, revokes or replaces what stands at a position, by its wording.

Wordlists for English, Chinese and German, with the commonest negations of French, Spanish, Russian
and Japanese. Works on canonical text (`evals.matcher.numerals`); errs towards "not asserted".
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from evals.matcher.numerals import CLOSE, OPEN
from evals.matcher.wording import informative, shape_of

Stance = Literal["asserted", "negated", "forbidden", "revoked", "withdrawn", "replaced", "asked"]
"""`forbidden` is negated by a directive, `revoked` is wrong, outdated or dismissed, `withdrawn` is
negated and revoked: the old that must not be used, or a prohibition that no longer holds."""

SEGMENT_CHARS = 400
"""A wrapped sentence is joined over lines up to this length."""
REACH_CHARS = 200
"""How far to the left and right of a value its wording is read."""

_ABBREVIATED = r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\b[DM]r\.)(?<!\b(?:No|St|Ms|cf|vs)\.)(?<!\betc\.)"
_BREAK = re.compile(rf"\n+|(?<=[.!?]){_ABBREVIATED}[\"')\]]* (?=[^a-z ])|(?<=[。！!？?])|; ?")
_ITEM = rf"(?:[-*•+>#|<{{}}\[\]]|(?:{OPEN}[0-9]+{CLOSE}|[0-9]{{1,3}}|[a-z])[.)] )"
_NEW_LINE = re.compile(rf"{_ITEM}|\"?\w[\w .-]{{0,40}}\"? ?[:=](?!//)")
_BULLET = re.compile(rf"\s*{_ITEM}")


def _continues(canonical: str, start: int, newline: re.Match[str]) -> bool:
    """Tell a wrapped sentence from the next entry of a list, table, log or heading."""
    line, after = canonical[start : newline.start()], newline.end()
    if len(newline[0]) > 1 or len(line) > SEGMENT_CHARS or line.endswith((*".!?:;。！？{[],|>}",)):
        return False
    is_row = line.lstrip().startswith(OPEN) and canonical.startswith(OPEN, after)
    if is_row or _NEW_LINE.match(canonical, after) or line.lstrip().startswith("#"):
        return False
    following = canonical[after : after + 1]
    return len(line) - line.rfind("\n") > 40 or not following.isupper()


def segment_starts(canonical: str) -> list[int]:
    """Offsets at which a sentence, a list entry or a line that stands alone begins."""
    starts = [0]
    for found in _BREAK.finditer(canonical):
        if "\n" in found[0] and _continues(canonical, starts[-1], found):
            continue
        if found.end() > starts[-1]:
            starts.append(found.end())
    return starts


def is_header(segment: str) -> bool:
    """Whether a segment introduces the entries after it."""
    return segment.startswith("#") or segment.rstrip().endswith(":")


def header_indices(canonical: str, starts: list[int]) -> list[int]:
    """For each segment the index of the one that introduces it, or -1.

    A heading holds until the next heading, a line that ends in a colon for the bullets after it.
    """
    headers, heading, lead = [], -1, -1
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else len(canonical)
        segment = canonical[start:end]
        if segment.startswith("#"):
            headers.append(-1)
            heading, lead = index, -1
            continue
        bullet = _BULLET.match(segment) is not None
        headers.append(lead if bullet and lead >= 0 else heading)
        if segment.rstrip().endswith(":"):
            lead = index
        elif not bullet:
            lead = -1
    return headers


def segment_at(starts: Sequence[int], offset: int) -> int:
    """Index of the segment that holds an offset."""
    return bisect_right(starts, offset) - 1


_HARMLESS = re.compile(
    r"\b(?:not|n't|never) (?:only|just|yet)\b|\bnot (?:done|fixed|resolved|tested|finished)\b"
    r"|\bwhether or not\b|\bno (?:problem|doubt|matter)\b|\bno\. |\bnicht nur\b|不[仅止但只]是?"
)
_FORWARD = re.compile(
    r"(?P<past>\b(?:old|former(?:ly)?|previous(?:ly)?|used to|deprecated|obsolete|outdated|revoked?"
    r"|rejected|wrong|incorrect|considered|evaluated|ruled out|decided against|veraltet\w*"
    r"|alte[rnsm]?|(?:prefer|cho[os]|favou?r|pick)\w*\b[^,;.]{1,30}\bover)\b"
    r"|\bdrop(?:ped|ping)? (?:support for )?(?:\w+ )?$|废弃|弃用|作废|取消|旧|原来的|原先|之前的)"
    r"|(?P<strong>\b(?:(?:do not|don't|never|please not|nicht|stop(?:ped)?) us(?:e|ing)|avoid\w*"
    r"|instead of|rather than|no longer|nicht mehr)\b|不要使?用|不再|已不|而不是|而非|停止)"
    r"|\b(?:not|never|no|nor|neither|cannot|without|refrain|except|excluding|forbid\w*"
    r"|prohibit\w*|disallow\w*|banned|nicht|kein\w*|nie|niemals|statt|anstatt|ohne|pas|jamais|nunca"
    r"|sin|не|никогда)\b|n't\b|不(?![同过断变足少错管论久])|勿|(?<![特级类分区性识个])别(?!名)"
    r"|禁止|严禁|避免|没有|并非|无需|除了"
)
_HEADER = re.compile(
    r"\b(?:not|never|cannot|avoid|without|revoked|rejected|deprecated|obsolete|outdated|forbidden"
    r"|prohibited|abandoned|discarded|wrong|nicht|niemals|verboten|veraltet|verworfen)\b|n't(?:s)?\b"
    r"|不要|禁止|严禁|切勿|废弃|作废|弃用"
)
_AUXILIARY = (
    r"(?:is|are|was|were|be|been|must|should|shall|can|could|will|would|does|did|has|have|may"
    r"|ist|sind|war|wird|darf|soll)"
)
_BACKWARD = re.compile(
    r"(?P<past>\b(?:wrong|incorrect|revoked|rejected|withdrawn|retracted|deprecated|obsolete"
    r"|outdated|abandoned|discarded|dismissed|cancell?ed|invalid|falsch|veraltet|verworfen"
    r"|superseded|(?:was|were) (?:considered|evaluated)|widerrufen|ungültig"
    r"|too (?:low|high|small|large|big|long|short|slow))\b"
    r"|废弃|作废|取消|不对|错误的|是错的|弃用|撤销|廃止)"
    r"|(?P<strong>\b(?:no longer|nicht mehr|do not use|don't use)\b|不再)"
    rf"|\b{_AUXILIARY}(?: \w+)? (?:not|never|nicht)\b|\b{_AUXILIARY}n't\b|\bcannot\b|\bnicht\b"
    r"|\b(?:forbidden|prohibited|disallowed|banned|off-limits|alone|untouched|intact|verboten)\b"
    r"|\bnot allowed\b|^(?: \w+){0,2} ?[:—-] ?(?:no|never|do not|don't)\b"
    r"|不(?:能|要|得|是|可)|^ ?不(?![同过断变足少错管论久仅止但只])|禁止"
    r"|ない|ません|(?:では|じゃ)な[いく]"
)
_DISMISSED = re.compile(
    r"\bbut (?:later |then |we )?(?:was |were |it )?(?:rejected|dropped|abandoned|revoked|went with"
    r"|chose|switched|discarded)\b|\b(?:decided against|ruled out|anymore)\b"
)
_TAKES_UP = re.compile(r"(?:this|that|it|superseded|revoked|rejected|withdrawn)\b|这")
_TOGGLE_LEFT = re.compile(
    r"\b(?:exceed\w*|forget|go (?:over|above|beyond)|more than|surpass\w*|über\w*schreit\w*)\b|超过"
    r"|(?:\b(?:not|never|no|cannot|nicht|nie|niemals)|n't)\b.{0,80}\b(?:without|except|ohne)\b"
)
_TOGGLE_RIGHT = re.compile(r"\b(?:lifted|waived|no longer applies|no longer holds)\b")
_VERB = re.compile(
    r"\b(?:us(?:e|es|ing)|set|run|keep|is|are|listens?|prefer|choose|should|must|always|go|goes|take"
    r"|it|we|verwende|nutze|nimm|ist)\b|[用是为]"
)
_ASIDE = re.compile(
    r", (?:under|in|at|on|for|even|ever|please|if|when|unless)\b[^,]{0,60},(?! ?\w+ing)"
)
_RESET_LEFT = re.compile(
    r"[)\]]|—|\b(?:but|however|instead(?! of)|then|because|since|so|while|which|sondern|aber|weil"
    r"|da|and (?:use|run|set|keep)|without \w+(?: \w+)? (?:is|are|was|were|must|may|can))\b"
    r"|但是?|而是|改用|应使用|因为|所以"
)
_RESET_RIGHT = re.compile(
    rf"\((?!(?:it|this|that|which|es|das)\b)[^\W\d]+ {_AUXILIARY} (?:not|never|nicht)\b|—"
    r"|\b(?:but|because|since|and|so|while|instead|sondern|aber|weil|und)\b"
    r"|, (?!\w+ed\b|wrong\b|(?:is|was|now) )|,(?=[^ ])|但|因为|所以|、"
)


def _left_scope(left: str, right: str) -> str:
    """Cut the words before a value down to those whose negation reaches it."""
    left = _ASIDE.sub(" ", left)
    resets = [reset.end() for reset in _RESET_LEFT.finditer(left)]
    left = left[resets[-1] :] if resets else left
    head, comma, tail = left.rpartition(",")
    if not comma:
        return left
    clause = re.split(r"[,;]", right)[0]
    if _VERB.search(tail) or _FORWARD.search(tail) or _VERB.search(clause):
        return tail
    return head + " " + tail


_FROM = re.compile(r"(?:\b(?:from|von|vom)\b|[从由])\W*(?:\w+\W+){0,3}$")
_TO = re.compile(
    r"\W{0,3}(?:\w+ ){0,3}?(?:\b(?:to|into|auf|zu|nach)\b|改为|改成|换成|变[为成]|调整为|更新为"
    r"|迁移到|到)"
)
_CHANGED_TO = re.compile(
    r".{0,40}?\b(?:changed|renamed|moved|replaced|superseded|migrated|switched|ersetzt|geändert)"
    r" (?:to|with|by|durch)\b|\W{0,3}(?:改为|改成|换成|变[为成]|调整为|更新为)"
)
_FIRST_TOKEN = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|[^\s,;:)\"'`]+")
_ARROW = re.compile(r"[\"') ]*(?:->|=>|→|⇒)[\"'( ]*")
_VERB_OF_CHANGE = re.compile(
    r"\b(?:replac|renam|chang|updat|switch|mov|migrat|swap|bump|ersetz)\w*\b"
    r"(?:(?!\b(?:to|with|by|into|in|durch)\b)[^.;,]){0,40}$"
)
_WITH_NEW = re.compile(r"\W{0,3}(?:\w+ ){0,3}?(?:with|by|to|for|durch|auf)\b")
_FORMERLY = re.compile(
    r"(?:\(|, )(?:was|formerly|previously|before|vorher|原为?|之前)(?: is| at| on)?:? (?:\w+ )?$"
    r"|(?:原为|原来是|之前是|曾是)$"
)
_WAS = re.compile(r"\b(?:was|were)\b[^,;]{0,20}$")
_NOW = re.compile(r"\W{0,3}(?:but |and )?(?:it )?(?:is )?(?:now|jetzt)\b")


def _is_replaced(left: str, value: str, right: str) -> bool:
    if _CHANGED_TO.match(right) or _FORMERLY.search(left):
        return True
    arrow = _ARROW.match(right)
    if arrow:
        target = _FIRST_TOKEN.match(right[arrow.end() :])
        return target is not None and shape_of(target[0]) == shape_of(value)
    if _FROM.search(left) and _TO.match(right):
        return True
    if _WAS.search(left) and _NOW.match(right):
        return True
    return _VERB_OF_CHANGE.search(left) is not None and _WITH_NEW.match(right) is not None


_FURTHER_QUANTITY = re.compile(rf"(?<![^\W\d_] ){OPEN}")
"""One that is listed; behind a noun it names something ("order 5521")."""


def _right_scope(value: str, right: str) -> str:
    reset = _RESET_RIGHT.search(right)
    right = right[: reset.start()] if reset else right
    if not value.startswith(OPEN):
        return right
    further = _FURTHER_QUANTITY.search(right)
    return right[: further.start()] if further else right


_LIGHT = frozenset(informative("give gives gave given make makes put take takes"))
"""Verbs that say little of what is forbidden: "give advice"."""
_VERB_AFTER = re.compile(rf"\b{_AUXILIARY}(?: \w+)? (?:not|never|nicht)\b|\bcannot\b")
_VERB_BEFORE = re.compile("ない|ません")


def denied_action(left: str, right: str) -> str:
    """Name what a negation says must not be done with the value it reaches.

    Returns:
        The stem of the word next to the negation. Empty if nothing is denied, if no verb can be
        told ("stays untouched"), or if it says too little ("give").
    """
    before, after = _HARMLESS.sub(" ", _left_scope(left, right)), _right_scope("", right)
    forward = list(_FORWARD.finditer(before))
    if forward:
        terms = informative(before[forward[-1].end() :])[:1]
    elif cue := _VERB_AFTER.search(after):
        terms = informative(after[cue.end() :])[:1]
    elif cue := _VERB_BEFORE.search(after):
        terms = informative(after[: cue.start()])[-1:]
    else:
        terms = []
    return "".join(term for term in terms if term not in _LIGHT)


_DONE = re.compile(
    r"^\W*(?:done|completed|finished|erledigt)\b"
    r"|\b(?:is|are|was|were|been|ist|sind|wurden?)(?: now| already| schon| bereits)?"
    r" (?:done|completed|finished|closed|erledigt|abgeschlossen)\b|已完成|完了"
)
_TICKED = re.compile(r"\[x\]|[✓✔✅☑]")
_NOT_DONE = re.compile(r"\[ \]|\b(?:until|once|when|if|before|after|bis|sobald|wenn)\b|\bnot\b")


def is_done(segment: str, header: str) -> bool:
    """Whether a lower-case sentence, or what introduces it, calls a task done."""
    if _TICKED.search(segment):
        return True
    if _DONE.search(segment) and not _NOT_DONE.search(segment):
        return True
    return re.search(r"\b(?:done|completed|finished|erledigt)\b|已完成", header) is not None and (
        not _NOT_DONE.search(header) and "[ ]" not in segment
    )


def stance_of(
    left: str, value: str, right: str, *, header: str = "", following: str = ""
) -> Stance:
    """Judge the wording around one value.

    Args:
        left: Lower-case text from the start of the segment to the value.
        value: The value itself, canonical and lower-case.
        right: The rest of the segment.
        header: The segment that introduces this one, if any.
        following: The next segment, which may take the value back ("This was revoked.").
    """
    left, right = _HARMLESS.sub(" ", left), _HARMLESS.sub(" ", right)
    if _is_replaced(left, value, right):
        return "replaced"
    before, after = _left_scope(left, right), _right_scope(value, right)
    cues = [*_FORWARD.finditer(before), *_BACKWARD.finditer(after)]
    revoked = any(cue["past"] for cue in cues) or _DISMISSED.search(right) is not None
    forbidden = any(cue["strong"] for cue in cues)
    if _TAKES_UP.match(following):
        later = _BACKWARD.finditer(following[:80])
        revoked = revoked or any(cue["past"] or cue["strong"] for cue in later)
    if header and _HEADER.search(_HARMLESS.sub(" ", header)):
        forbidden = True
    denied = forbidden or any(not cue["past"] for cue in cues)
    flipped = bool(_TOGGLE_LEFT.search(before)) != bool(_TOGGLE_RIGHT.search(right))
    if (denied or revoked) != flipped:
        if revoked:
            return "withdrawn" if denied else "revoked"
        return "forbidden" if forbidden else "negated"
    return "asked" if right.rstrip().endswith(("?", "？")) else "asserted"
