"""Questions with accepted answers as key facts, and turns as messages: what recall sets share."""

from collections.abc import Sequence

from compaction.messages import Json


def fact(
    fact_id: str, question: str, accepted: Sequence[str], *, stated_at: int, evidence: str
) -> Json:
    """Return a fact in the form of `facts.json`, judged at the last request."""
    return {
        "id": fact_id,
        "kind": "value",
        "values": [list(accepted)],
        "stated_at": stated_at,
        "evidence": evidence,
        "question": question,
        "answers": list(accepted),
    }


def accepted_answers(raw: object) -> list[str]:
    """Return answers as texts; numbers are written out."""
    listed = raw if isinstance(raw, list) else [raw]
    return [str(item) for item in listed if isinstance(item, str | int | float) and str(item)]


def session_note(number: int, date: object) -> Json:
    """Return the message that separates two sessions; questions ask for dates."""
    when = f", {date}" if isinstance(date, str) and date else ""
    return {"role": "system", "content": f"Session {number}{when}"}
