"""What a user reads: the story's audit word by word, and what single findings say."""

import re
from dataclasses import replace

import pytest

from evals.audit.findings import findings_of
from evals.audit.rendering import as_markdown, as_text
from evals.audit.sessions import audit_session
from evals.audit.tables import contestants
from evals.audit.text import Grid, Section, sections_of
from evals.audit.values import Audit, Clearing, NeedCounts
from evals.settings import Setting
from evals.synthetic import generate
from evals.transcripts import RecordedCompaction, Transcript
from tests.audit_cases import AFTER, BEFORE, boundary_of, compacted, messages, plan, segment

FINDINGS = [
    "Read or run again although it had been there: 1 file read, 28 tokens, $0.0003; 1 of 6 "
    "requests did nothing else.",
    "4 references from before were needed afterwards: 1 kept, 1 only named, 1 read again in time "
    "and 1 lost.",
    "2 file paths were needed again within 5 requests and were gone; only nearly everything would "
    "have kept all of them: the last 2 of 2 results, 107 tokens.",
    "Within 35 tokens no strategy here would have kept any of it.",
    "Not in these numbers: 1 reference that the assistant had been first to use (0 kept, 0 named, "
    "0 read again).",
    "The summary names 3 references; 1 stands nowhere before it.",
    "Of 1 standing instruction no longer there, 0 are repeated.",
    "Of 1 file or folder read, searched or changed before, 1 no longer named, 0 without the last "
    "state.",
]
NAMED = [
    "Missing, and how many requests later: /srv/data/ledger.db (+2), config/retry.yaml (+5)",
    "Read or run again: file /srv/app/export.py",
    "Nowhere before the summary: /srv/app/ghost_module.py",
]
TEXT = """\

Audit of recorded compactions
=============================
- 1 session, 1 of them compacted; 1 compaction that can be judged.
- Forgetting cost 1 call that read or ran again what had been there: 28 tokens, $0.0003, 1 request
  for nothing else.
- Of 4 references needed afterwards the recorded compactions kept 1, named 1, left 1 to be read
  again and lost 1.

story (story.json): 9 requests, largest input 170 tokens
========================================================

Compaction 1 (auto) before request 3 (from 0): 107 tokens became 35; 6 requests after it
----------------------------------------------------------------------------------------
"""
GRID = """\
at the boundary                 tokens   reached  by handle  named  gone  of missing
recorded                            35    1 of 4          0      1     2      0 of 2
at most, by whole messages          35  2.0 of 4
identity                    107 (306%)    4 of 4          0      0     0      2 of 2
drop_all                       6 (17%)    0 of 4          0      0     4      0 of 2
"""


def audit_of(*transcripts, show_text=False):
    asked = plan(Setting("identity"), Setting("drop_all"), show_text=show_text)
    return Audit(tuple(audit_session(t, asked) for t in transcripts), show_text)


def test_the_findings_of_the_story_are_these():
    assert list(findings_of(boundary_of(compacted(), show_text=False))) == FINDINGS
    assert list(findings_of(boundary_of(compacted()))) == FINDINGS + NAMED


def test_the_terminal_shows_the_story():
    text = as_text(sections_of(audit_of(compacted())))

    assert text.startswith(TEXT)
    assert GRID in text
    assert "shown with --show-text" in text


def test_markdown_has_all_columns_and_escapes_names():
    audit = audit_of(replace(compacted(), name="a|b<script>", source="s_1.json"))

    text = as_markdown(sections_of(audit))

    assert "## a\\|b&lt;script&gt; (s\\_1.json): 9 requests, largest input 170 tokens" in text
    assert "| at the boundary | tokens | reached | by handle | named | gone | of missing |" in text
    assert "| recorded | 35 | 1 of 4 | 0 | 1 | 2 | 0 of 2 | 0 of 1 | – | 1 of 1 | 1 |" in text
    assert "<script>" not in text


def test_when_nothing_was_lost_it_says_so():
    before = (*BEFORE[:2], ("says", "Read."))
    after = (("user", "Go on."), ("call", "c5", "run", {"run": "serve port=8787"}, "ok"))
    found = boundary_of(compacted(before, after))

    assert list(findings_of(found))[1] == (
        "Nothing was lost: the 1 reference needed afterwards had been kept."
    )
    assert found.missing == ()


def test_when_nothing_was_needed_it_says_so():
    found = boundary_of(compacted(after=(("user", "Go on."), ("says", "Done."))))

    assert list(findings_of(found))[:2] == [
        "Nothing was read or run again that had been there before.",
        "Nothing that was used afterwards came from before the boundary.",
    ]


def test_what_to_do_is_told_with_its_price():
    found = boundary_of(compacted())
    cheap = replace(found, clearing=Clearing(8, 60, 4_100), history_tokens=50_000)
    none = replace(found, clearing=Clearing(0, 60, 900), history_tokens=50_000)
    reached = replace(found.contestants[1], missing_reached=1, tokens=30, recoverable=2)
    reached = replace(reached, is_within_budget=True)
    able = replace(found, contestants=(found.contestants[0], reached))

    assert list(findings_of(cheap))[2] == (
        "2 file paths were needed again within 5 requests and were gone; keep_last_results=8 would "
        "have kept all of them in 4,100 tokens; 35 of 50,000 were sent."
    )
    assert "clearing every tool result would still have kept" in list(findings_of(none))[2]
    assert list(findings_of(able))[3] == (
        f"Within the same 35 tokens {reached.label} would have kept 1 of 2, in 30; 2 of all 4 "
        "needs only through a handle."
    )


def test_what_cannot_be_judged_is_no_loss():
    found = boundary_of(compacted())
    hidden = replace(
        found,
        unlogged_tokens=13_547,
        needs=NeedCounts(asked=4, kept=1, named=1, read_again=1, unseen=1),
        gone_before=2,
    )

    text = " ".join(findings_of(hidden))

    assert "1 read again in time, 0 lost and 1 that cannot be judged" in text
    assert "nowhere in what the log shows of the compacted view" in text
    assert "13,547 tokens more than the log holds" in text
    assert "1 no longer named, 0 without the last state, as far as the log shows." in text
    assert "0 are repeated, as far as the log shows." in text
    assert "2 references came from before an earlier compaction" in text


def test_sessions_without_compaction_stand_in_one_table():
    plain = Transcript("plain", (segment(compacted().segments[0].messages),), source="p.json")

    sections = sections_of(audit_of(plain, replace(plain, name="other")))
    text = as_text(sections, width=200)

    assert "2 sessions, 0 of them compacted; 0 compactions that can be judged." in text
    assert "plain (p.json)" in text
    assert "How to read this" not in text  # nothing of what it tells is there
    assert text.count("never") >= 2
    (heads,) = (line for line in text.splitlines() if line.startswith("conversation  "))
    names = ("xun", "my_pi_agent", "three_layer")
    assert re.split(" {2,}", heads)[3:] == [head for n in names for head in (n, f"{n}, half")]


def test_what_would_have_fired_is_told_with_when():
    made = generate(61, seed=3, plant_every=2, round_chars=4_000, gaps=(2, 5))

    (section,) = (
        each
        for each in sections_of(audit_of(Transcript("t", (segment(made.messages),))))
        if each.title == "Conversations without a compaction"
    )

    cells = dict(zip(section.grid.heads, section.grid.rows[0], strict=True))
    assert cells["xun"] == "never"
    assert re.fullmatch(r"11 at [0-9,]+ clears", cells["three_layer"])
    assert re.fullmatch(r"[0-9]+ at [0-9,]+ (clears|summarizes)", cells["xun, half"])


def test_the_session_in_which_forgetting_cost_most_comes_first():
    (dear,) = audit_of(compacted()).sessions
    (boundary,) = dear.boundaries
    free = replace(boundary, reacquired=replace(boundary.reacquired, usd=0.0))
    cheap = replace(dear, transcript="cheap", boundaries=(free,))

    titles = [each.title for each in sections_of(Audit((cheap, dear), show_text=False))]

    assert [title.split()[0] for title in titles[1:5:2]] == ["story", "cheap"]


def test_the_best_at_the_same_sizes_is_compared_only_where_it_fits():
    found = boundary_of(compacted())
    recorded, clearing, *_ = found.contestants
    fitting = replace(clearing, is_within_budget=True, reached=3, recoverable=1)
    fits, does_not = (replace(found, contestants=(recorded, each)) for each in (fitting, clearing))
    (session,) = audit_of(compacted()).sessions

    def overall(*boundaries):
        audit = Audit((replace(session, boundaries=boundaries),), show_text=False)
        return " ".join(sections_of(audit)[0].findings)

    assert (
        "Within the same sizes, where it fits (1 boundary), clear_tool_results would have kept "
        "3 of 4 (1 only through a handle, a request each), the recorded compactions 1."
    ) in overall(fits, does_not)
    assert "Within the same sizes clear_tool_results would have kept 6 of 8" in overall(fits, fits)
    assert "Within the same sizes" not in overall(does_not)
    assert "No strategy here could be made as small as the recorded" in overall(does_not)
    worse = replace(found, contestants=(recorded, replace(fitting, reached=1)))
    assert "No strategy here that fits into the same sizes would have kept more." in overall(worse)


def test_a_failed_session_is_named():
    (session,) = audit_of(compacted()).sessions
    failed = replace(session, boundaries=(), error="no luck")

    text = as_text(sections_of(Audit((failed,), show_text=False, refused=("b.json: damaged",))))

    assert "Failed: story (story.json): no luck" in text
    assert "Conversations without a compaction" not in text
    assert "Not read: b.json: damaged" in text


@pytest.mark.parametrize("width", [30, 60, 80, 100, 200])
def test_tables_and_sentences_fit_a_terminal(width):
    plain = Transcript("plain", (segment(compacted().segments[0].messages),), source="p.json")
    deep = replace(compacted(), source=f"/{'folder/' * 40}story.json")

    text = as_text(sections_of(audit_of(deep, plain)), width=width)

    assert max(map(len, text.splitlines())) <= width
    text = " ".join(text.split())
    for figure in ("107", "2.0 of 4", "by handle", "largest input", "never"):
        assert figure in text


def test_in_a_pipe_a_long_name_stays_whole():
    path = f"/{'folder/' * 40}story.json"

    lines = as_text(sections_of(audit_of(replace(compacted(), source=path)))).splitlines()

    assert any(path in line for line in lines)
    assert all(len(line) <= 100 for line in lines if path not in line)


def test_files_of_one_session_are_one_session():
    (first,) = audit_of(compacted()).sessions
    plain = Transcript("story", (segment(compacted().segments[0].messages),), source="p.json")
    (second,) = audit_of(plain).sessions
    files = (replace(first, session="s1"), replace(second, session="s1"))

    sections = {e.title: e.findings for e in sections_of(Audit(files, show_text=False))}

    assert sections["Audit of recorded compactions"][0].startswith(
        "1 session in 2 files, 1 of them compacted;"
    )
    # It is compacted, so it is not among those that are not; the other file is not forgotten.
    assert "Conversations without a compaction" not in sections
    (of_session,) = (found for title, found in sections.items() if title.startswith("story"))
    assert of_session == ("Another file of it holds no compaction: p.json (3 requests).",)


def test_another_conversation_of_a_compacted_session_is_listed_with_what_would_have_fired():
    (first,) = audit_of(compacted()).sessions
    plain = Transcript(
        "story/agent-1", (segment(compacted().segments[0].messages),), source="p.json"
    )
    (second,) = audit_of(plain).sessions
    audit = Audit((replace(first, session="s1"), replace(second, session="s1")), show_text=False)

    sections = {each.title: each for each in sections_of(audit)}

    assert sections["Audit of recorded compactions"].findings[0].startswith("1 session in 2 files")
    (row,) = sections["Conversations without a compaction"].grid.rows
    assert row[0] == "story/agent-1 (p.json)"


def hidden_audit(kept=()):
    """Return an audit of a compaction whose summary the log does not show."""
    first, _ = compacted().segments
    sent = (*messages(BEFORE[:1]), *kept)
    opened_by = RecordedCompaction("full")
    after = segment((*sent, *messages(AFTER)), n_sent=len(sent), opened_by=opened_by)
    return audit_of(replace(compacted(), segments=(first, after)))


def test_a_summary_that_the_log_does_not_show_is_not_judged():
    audit = hidden_audit()

    text = " ".join(as_text(sections_of(audit), width=1_000).split())

    assert "0 compactions that can be judged, 1 whose summary cannot be read." in text
    assert (
        "1 compaction with a summary that cannot be read (encrypted, or empty): of 4 references "
        "needed after it, 4 not judged."
    ) in text
    assert "the summary cannot be read, so 4 of them are not judged." in text
    assert "what it keeps and invents cannot be checked" in text
    assert re.search(r"recorded, summary not readable [0-9]+ not readable – – – –", text)
    for judged in (" lost", "were gone", "no longer named", "repeated", "would have kept"):
        assert judged not in text.partition("How to read this")[0]


def test_what_was_sent_on_beside_an_unreadable_summary_is_known():
    kept = messages(BEFORE)[3:5]  # the search: deploy/hosts.ini and config/retry.yaml

    text = " ".join(as_text(sections_of(hidden_audit(kept)), width=1_000).split())

    assert (
        "of 4 references needed after it, 2 kept or named in messages that were sent on, 2 not"
        in text
    )
    assert (
        "2 of them are not judged; in messages that were sent on, 2 kept and 0 only named." in text
    )
    assert re.search(r"recorded, summary not readable [0-9]+ at least 2 of 4 –", text)


def test_an_empty_summary_is_one_that_cannot_be_read():
    (session,) = audit_of(compacted(summary="")).sessions

    assert not session.boundaries[0].is_readable


def test_a_row_over_the_size_never_reads_as_all_of_it():
    found = boundary_of(compacted(), Setting("identity"))
    nearly = replace(found.contestants[1], tokens=1_001)
    grid = contestants(
        replace(found, contestants=(found.contestants[0], nearly), view_tokens=1_000)
    )

    assert grid.rows[-1][1] == "1,001 (101%)"


def test_why_half_may_fire_before_half_is_told_where_it_stands():
    plain = Transcript("plain", (segment(compacted().segments[0].messages),), source="p.json")

    (section,) = (e for e in sections_of(audit_of(plain)) if e.grid)

    assert any(head.endswith(", half") for head in section.grid.heads)
    assert "with half of the session's largest input as its threshold (half)" in section.findings[0]
    assert "before their threshold, and decide by characters" in section.findings[0]


def test_a_budget_below_what_is_sent_in_any_case_has_no_bound():
    (session,) = audit_of(compacted()).sessions
    small = replace(session.boundaries[0], fixed_tokens=50, best_possible_fraction=None)
    audit = Audit((replace(session, boundaries=(small,)),), show_text=False)

    text = as_text(sections_of(audit))

    assert re.search(r"instructions and what is new, alone +50 \(143%\) +– +–", text)
    assert "at most, by whole messages" not in text
    assert (
        "Instructions and what came after the boundary are 50 tokens alone, more than the 35 that "
        "were sent"
    ) in " ".join(text.split())


def test_names_cannot_steer_a_terminal():
    section = Section("t\x1b[2J", 1, ("a\nb\x07",), Grid(("h",), (("c\r",),)))

    text = as_text([section])

    assert not {"\x1b", "\x07", "\r"} & set(text)
    assert "a\\nb" in text


def test_how_many_answers_were_counted_to_be_priced_is_said():
    audit = audit_of(compacted())
    (session,) = audit.sessions
    told = replace(audit, sessions=(replace(session, counted_outputs=0),))

    n = session.requests
    assert session.counted_outputs == n  # no request of it has usage
    said = f"Answers of {n} of {n} requests are priced by the tokens that they hold"
    assert said in " ".join(as_text(sections_of(audit)).split())
    assert "Answers of" not in as_text(sections_of(told))


def test_for_how_many_sessions_a_price_file_was_of_use_is_said():
    audit = audit_of(compacted())
    (session,) = audit.sessions
    sessions = (replace(session, price_file_used=False), replace(session, price_file_used=True))
    told = replace(audit, sessions=sessions)

    assert "Price file: used for 1 of 2 sessions." in as_text(sections_of(told))
    assert "Price file" not in as_text(sections_of(audit))
