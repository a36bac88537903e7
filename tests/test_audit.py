"""What an audit says of a recorded compaction, by hand: one story as four agents record it."""

from dataclasses import asdict, replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as generators

from compaction.llm import Usage
from compaction.messages import Message
from evals.audit.contestants import default_contestants
from evals.audit.sessions import audit_session
from evals.audit.values import NeedCounts
from evals.settings import Setting
from evals.synthetic import generate
from evals.transcripts import RecordedCompaction, Transcript
from tests.audit_cases import (
    AFTER,
    ASKED,
    BEFORE,
    FORMATS,
    NEXT,
    OUTCOMES,
    SEARCHED,
    SUMMARY,
    boundary_of,
    compacted,
    messages,
    plan,
    read,
    segment,
)


def contestant(boundary, name):
    return next(each for each in boundary.contestants if each.label.startswith(name))


@pytest.mark.parametrize("name", FORMATS)
def test_kept_named_read_again_lost_and_invented_are_those_of_the_story(name, tmp_path):
    boundary = boundary_of(read(FORMATS[name](tmp_path)))

    assert {line.name: line.outcome for line in boundary.lines} == OUTCOMES
    assert boundary.needs == NeedCounts(asked=4, kept=1, named=1, read_again=1, lost=1)
    assert [line.after_requests for line in boundary.lines] == [2, 3, 4, 5]
    assert boundary.survived.invented == (("/srv/app/ghost_module.py", "path"),)
    assert (boundary.survived.written_references, boundary.survived.unsupported) == (3, 1)
    assert boundary.reacquired.names == ("file /srv/app/export.py",)
    assert (boundary.reacquired.calls, boundary.reacquired.requests_only) == (1, 1)
    assert (boundary.requests_after, boundary.gone_before) == (6, 0)


def test_constraints_files_and_tasks_of_the_story():
    boxes = ("says", "- [ ] move the ledger file\n- [x] read the exporter script")
    found = boundary_of(compacted((*BEFORE, boxes))).survived

    # The user's "do not touch" is not repeated, nor is the one open task; the file is not named.
    assert (found.constraints, found.constraints_kept) == (1, 0)
    assert (found.tasks, found.tasks_kept) == (1, 0)
    assert (found.files, found.files_lost, found.files_stale) == (1, 1, 0)


@pytest.mark.parametrize(
    ("line", "lost"), [("Read app/export.py.", 0), ("Read export.py.", 1), ("", 1)]
)
def test_a_file_may_be_named_by_its_folder_and_name(line, lost):
    assert boundary_of(compacted(summary=f"So far.\n{line}")).survived.files_lost == lost


def test_reading_again_is_priced_as_the_request_and_what_it_brought():
    transcript = compacted()
    first, second = transcript.segments
    read, *others = second.requests
    read = replace(read, usage=Usage(1_000, 50), model="gpt-4o")
    transcript = replace(transcript, segments=(first, replace(second, requests=(read, *others))))

    cost = boundary_of(transcript).reacquired

    # gpt-4o: $2.50 and $10 a million; under 1,024 tokens nothing can be read from a cache. One
    # request with usage gives its own size, and a slope of 1.
    assert cost.tokens == 28.0  # of the result
    assert cost.usd == pytest.approx((1_000 + 28) * 2.5e-6 + 50 * 10e-6)


def test_an_answer_of_which_a_log_notes_the_start_costs_at_least_what_the_log_holds_of_it():
    transcript = compacted()
    first, second = transcript.segments
    read, *others = second.requests

    def cost(output_tokens):
        noted = replace(read, usage=Usage(1_000, output_tokens), model="gpt-4o")
        requests = (noted, *others)
        changed = replace(transcript, segments=(first, replace(second, requests=requests)))
        return boundary_of(changed).reacquired.usd

    # The call and its path are some 20 tokens at $10 a million.
    assert cost(1) == cost(2)
    assert 10e-6 * 10 < cost(1) - (1_000 + 28) * 2.5e-6 < 40e-6 * 10
    assert cost(50) > cost(1)


def test_what_was_read_beside_other_work_costs_what_it_added():
    both = messages(AFTER)
    call = both[1].tool_calls[0], replace(both[3].tool_calls[0], call_id="c4")
    together = (both[0], Message("assistant", "", tool_calls=call), both[2], both[4], *both[5:])
    transcript = compacted()
    first, second = transcript.segments
    second = segment((second.messages[0], *together), opened_by=second.opened_by)

    cost = boundary_of(replace(transcript, segments=(first, second))).reacquired

    assert (cost.calls, cost.requests, cost.requests_only) == (1, 1, 0)
    assert 0 < cost.usd < boundary_of(transcript).reacquired.usd


def test_every_strategy_is_asked_at_the_size_of_what_was_sent():
    boundary = boundary_of(compacted())

    recorded = boundary.contestants[0]
    # Of the four needs the summary retells one and lists one; where nothing fits it says so.
    assert (recorded.label, recorded.reached, recorded.named, recorded.lost) == (
        "recorded",
        1,
        1,
        2,
    )
    assert recorded.tokens == boundary.view_tokens == 35
    for each in boundary.contestants:
        assert each.error is None
        assert each.is_within_budget == (each.tokens <= 35)
        assert each.reached + each.named + each.lost + each.undeclared == each.asked == 4


def test_of_results_as_many_newest_ones_are_kept_as_fit():
    long = [("call", f"f{n}", "grep", {"pattern": f"p{n}"}, "word " * 100) for n in range(4)]
    before = (*BEFORE[:-1], *long, BEFORE[-1])
    summary = "word " * 350

    boundary = boundary_of(compacted(before, summary=summary), Setting("clear_tool_results"))

    clearing = contestant(boundary, "clear_tool_results")
    (keep,) = clearing.was_set.values()
    assert clearing.is_within_budget
    assert 1 <= int(keep) < 6
    one_more = Setting("clear_tool_results", {"keep_last_results": str(int(keep) + 1)})
    larger = boundary_of(compacted(before, summary=summary), one_more)
    assert not contestant(larger, "clear_tool_results").is_within_budget


def test_a_parameter_that_the_user_fixed_stays():
    fixed = Setting("clear_tool_results", {"keep_last_results": "0"})

    found = contestant(boundary_of(compacted(), fixed), "clear_tool_results")

    assert (found.label, found.was_set) == ("clear_tool_results(keep_last_results=0)", {})


def test_the_fewest_results_to_keep_are_told():
    boundary = boundary_of(compacted())

    # Missing: the ledger of the first result and the retry file of the second.
    assert len(boundary.missing) == 2
    assert (boundary.clearing.keep_last_results, boundary.clearing.results) == (2, 2)


def test_a_strategy_that_fails_is_told_and_costs_nobody_else(tmp_path):
    code = tmp_path / "mine.py"
    code.write_text("def fails(messages):\n    raise ValueError('no luck')\n")

    boundary = boundary_of(compacted(), Setting(f"{code}:fails"), Setting("identity"))

    failed, identity = boundary.contestants[1:]
    assert "no luck" in failed.error
    assert identity.reached == 4


def test_what_was_sent_and_not_logged_may_have_held_what_seems_lost():
    transcript = compacted()
    first, second = transcript.segments

    def reported(each, extra):
        sizes = (Usage(1_000 + 10 * n + extra, 5) for n in range(len(each.requests)))
        pairs = zip(each.requests, sizes, strict=True)
        return replace(each, requests=tuple(replace(r, usage=u) for r, u in pairs))

    def audited(extra):
        return boundary_of(
            replace(transcript, segments=(reported(first, 0), reported(second, extra)))
        )

    assert audited(0).unlogged_tokens == 0
    assert audited(0).needs.lost == 1
    put_in = audited(5_000)
    assert 4_900 < put_in.unlogged_tokens < 5_100
    assert (put_in.needs.lost, put_in.needs.unseen, put_in.needs.read_again) == (0, 1, 1)
    assert put_in.view_tokens == 35 + put_in.unlogged_tokens


def test_nothing_is_called_lost_of_a_summary_that_cannot_be_read():
    first, second = compacted().segments
    kept = messages(BEFORE)[:1]
    second = segment((*kept, *messages(AFTER)), opened_by=RecordedCompaction("full"))

    needs = boundary_of(Transcript("t", (first, second))).needs

    # What was read again may have been in the summary too: it is no more judged than the rest.
    assert needs == NeedCounts(asked=4, unseen=4)


def test_what_was_named_stays_named_though_it_was_read_again():
    before = (("user", ASKED), ("call", "c1", "grep", {"pattern": "a"}, SEARCHED))
    again = ("call", "c2", "grep", {"pattern": "hosts"}, "deploy/hosts.ini: exporter01")
    used = ("call", "c3", "run", {"run": "ping deploy/hosts.ini"}, "ok")
    boundary = boundary_of(compacted(before, (("user", NEXT), again, used)))

    # What the table says of the view and what the sentences say of the needs add up alike.
    recorded = boundary.contestants[0]
    assert boundary.needs == NeedCounts(asked=1, named=1)
    assert (recorded.named, recorded.lost, boundary.missing) == (1, 0, ())


def test_what_an_earlier_compaction_had_lost_is_nobodys_fault_at_the_next():
    first, second = compacted().segments
    says = (("call", "d1", "run", {"run": "lint config/retry.yaml deploy/hosts.ini"}, "ok"),)
    middle = segment(second.messages[:4], opened_by=second.opened_by)
    opened_by = RecordedCompaction("full", summary="All is well.")
    third = segment((Message("user", "All is well."), *messages(says)), opened_by=opened_by)

    session = audit_session(Transcript("t", (first, middle, third)), plan())

    _, later = session.boundaries
    # deploy/hosts.ini stands in the summary that the second compaction replaced.
    assert later.gone_before == 1
    assert (later.number, later.before_request) == (2, 4)


def test_what_two_compactions_in_a_row_lost_is_told_at_the_second():
    first, second = compacted().segments
    between = segment(second.messages[:1], opened_by=second.opened_by)

    session = audit_session(Transcript("t", (first, between, second)), plan())

    (boundary,) = session.boundaries
    assert {line.name: line.outcome for line in boundary.lines} == OUTCOMES
    assert boundary.gone_before == 0
    assert len(session.unused) == 1


@pytest.mark.slow
def test_a_summary_of_a_megabyte_is_judged_like_a_short_one():
    lines = [f"see /srv/gen/file_{n}.py{' and what it says' * 60}" for n in range(1_000)]
    summary = "\n".join((SUMMARY, *lines))
    long = boundary_of(compacted(summary=summary), Setting("drop_all"))

    assert len(summary) > 1_000_000
    assert {line.name: line.outcome for line in long.lines} == OUTCOMES
    assert long.survived.unsupported == 1_001


def test_without_show_text_no_reference_is_in_the_result():
    hidden = str(asdict(boundary_of(compacted(), show_text=False)))
    shown = str(asdict(boundary_of(compacted())))

    for name in (*OUTCOMES, "/srv/app/ghost_module.py", "/srv/app/export.py"):
        assert name not in hidden
        assert name in shown


def test_a_session_without_compaction_says_what_would_have_fired():
    made = generate(61, seed=3, plant_every=2, round_chars=4_000, gaps=(2, 5))
    session = audit_session(Transcript("t", (segment(made.messages),)), plan())

    fires = {each.label: each for each in session.first_fires}
    assert session.boundaries == ()
    # Defaults of 192,000 tokens never fire; half of the peak does, and not before that half.
    assert fires["xun"].request is None
    half = fires["xun(token_threshold=50%)"]
    assert half.request > 1
    assert half.tokens > session.peak_tokens / 2
    assert half.tier == "ClearToolResults"
    # three_layer clears from its eleventh result on.
    assert fires["three_layer"].request == 11


SIZES = generators.integers(min_value=12, max_value=40)
PROPERTY = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.mark.slow
@PROPERTY
@given(seed=generators.integers(0, 10_000), rounds=SIZES, share=generators.floats(0.3, 0.7))
def test_identity_loses_nothing_drop_all_everything_and_no_choice_beats_the_bound(
    seed, rounds, share
):
    made = generate(2 * rounds + 1, seed=seed, plant_every=2, round_chars=300, gaps=(2, 8))
    starts = [at for at, m in enumerate(made.messages) if m.role == "assistant"]
    cut = starts[int(share * len(starts))]
    summary = Message("user", "word " * 200)
    opened_by = RecordedCompaction("full", summary=summary.text)
    transcript = Transcript(
        "t",
        (
            segment(made.messages[:cut]),
            segment((summary, *made.messages[cut:]), opened_by=opened_by),
        ),
    )
    asked = [*default_contestants(), Setting("drop_oldest"), Setting("random_drop")]

    boundary = boundary_of(transcript, *asked)

    assume(boundary.needs.asked)
    assert contestant(boundary, "identity").reached == boundary.needs.asked
    assert contestant(boundary, "drop_all").reached == 0
    assert boundary.needs.kept == 0
    for each in boundary.contestants[1:]:
        if (
            each.is_within_budget
            and each.recoverable == 0
            and each.survived.written_references == 0
        ):
            best = boundary.best_possible_fraction * boundary.needs.asked
            assert each.reached <= best + 1e-6
