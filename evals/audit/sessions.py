"""What the compactions recorded in a session kept, lost and invented, and what others would have.

Every number is about one boundary: DESIGN section 8, Recorded compactions. Nothing here asks a
model, unless a strategy is given one.
"""

from dataclasses import replace
from pathlib import Path

from evals.audit.boundaries import RecordedBoundary, UnusedBoundary, boundaries_of
from evals.audit.one_boundary import AuditPlan as AuditPlan
from evals.audit.one_boundary import OneBoundary
from evals.audit.values import SessionAudit, Unused
from evals.audit.would_fire import firing_settings, first_fires
from evals.money.pricing import price_transcript
from evals.needs import find_needs
from evals.prepare import Prepared, prepare
from evals.transcripts import Transcript


def audit_session(transcript: Transcript, plan: AuditPlan) -> SessionAudit:
    """Audit one transcript.

    Raises:
        CompactionError: it cannot be counted or priced.
    """
    prepared = prepare(transcript)
    pricing = price_transcript(prepared, plan.prices.of(transcript))
    found = list(boundaries_of(transcript))
    session = SessionAudit(
        transcript=transcript.name,
        source=transcript.source,
        format=transcript.format,
        requests=len(prepared.requests),
        peak_tokens=round(prepared.peak_tokens),
        priced_model=pricing.priced.vector.model,
        price_file_used=pricing.priced.file_used,
        counted_outputs=sum(request.is_output_counted for request in prepared.requests),
        unused=tuple(_unused(each) for each in found if isinstance(each, UnusedBoundary)),
        session=transcript.session,
    )
    if not found:
        fires = first_fires(prepared, firing_settings(), plan.model)
        return replace(session, first_fires=tuple(fires))
    usable = [each for each in found if isinstance(each, RecordedBoundary)]
    if not usable:
        return session
    earlier = _unresolvable(prepared) if len(found) > 1 else {}
    placebo = plan.placebos.of(transcript, Path(transcript.source))
    audits = (
        OneBoundary(each, prepared, pricing, plan, placebo).audit(
            earlier.get(each.segment, frozenset())
        )
        for each in usable
    )
    return replace(session, boundaries=tuple(audits))


def _unused(boundary: UnusedBoundary) -> Unused:
    opened_by = boundary.opened_by
    return Unused(boundary.segment, opened_by.kind, opened_by.tokens_before, boundary.reason)


def _unresolvable(prepared: Prepared) -> dict[int, frozenset[str]]:
    """Return segment -> what was used in it and stands in earlier segments only."""
    segment_of = {request.index: request.segment for request in prepared.requests}
    found: dict[int, set[str]] = {}
    for need in find_needs(prepared).unresolvable:
        found.setdefault(segment_of[need.request], set()).add(need.value)
    return {segment: frozenset(values) for segment, values in found.items()}
