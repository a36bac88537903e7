"""Construct validity: what recorded answers say of the statuses, by hand, in every report."""

from rich.console import Console

from evals.results import RunFolder
from reports import tables
from reports.frames import load
from reports.page import html
from reports.validity import HEADS, TITLE, validity
from tests.reports_cases import row, write_run


def probe(status, *outcomes, verdict="kept", **changes):
    found = {"status": status, "fact_in_view": verdict, "compacted": outcomes, "is_counted": True}
    return {**found, "by": ["exact"] * len(outcomes), **changes}


def answered(transcript, label="plain", reader="small-model", **columns):
    counts = {"probe_reader": reader, "probes_counted": 4, "probe_right_fraction": 0.5}
    return row(transcript, label, saving=0.5, **counts, **columns)


def run_of(tmp_path, *cells):
    """Write cells with their sidecars, and read the run."""
    path = write_run(tmp_path / "run", [cell for cell, _ in cells])
    for cell, sidecar in cells:
        RunFolder(path).write_sidecar(cell.cell_id, sidecar)
    return load(path)


FIRST = {
    "probes": [
        probe("restated", "right"),
        probe("restated", "right", "wrong"),
        probe("mentioned", "wrong", verdict="lost"),
        probe("lost", "unknown", verdict="lost"),
        probe("lost", "right", is_counted=False),
    ]
}
SECOND = {
    "probes": [
        probe("visible_source", "right"),
        probe("restated", "wrong"),
        probe("mentioned", "right", verdict="lost"),
        probe("lost", "wrong", verdict="lost"),
    ]
}


def test_each_status_has_its_share_of_right_answers(tmp_path):
    run = run_of(tmp_path, (answered("a"), FIRST), (answered("b"), SECOND))

    found = validity(run)

    data = "recorded, small-model"
    assert len(HEADS) == 5
    # Restated: 1, 0.5 and 0 of three. By conversation 0.75 and 0, so t leaves nothing out.
    assert found.rows == (
        ("visible in its source", data, "1 (1)", "100", "–"),
        ("restated", data, "3 (2)", "50", "0 to 100 (t)"),
        ("recoverable", data, "0", "–", "–"),
        ("mentioned", data, "2 (2)", "50", "0 to 100 (t)"),
        ("lost", data, "2 (2)", "0", "–"),
    )
    # Restated minus mentioned: 0.75 - 0 and 0 - 1.
    assert any("restated minus mentioned: -12.5 points right" in note for note in found.notes)


def test_a_lost_fact_is_held_against_the_answer_and_few_conversations_make_no_claim(tmp_path):
    run = run_of(tmp_path, (answered("a"), FIRST), (answered("b"), SECOND))

    head = validity(run).headline[1]

    # Lost at 2 of 8 answers; right 1, .5, 0, 0 | 1, 0, 1, 0. Spearman by hand: mid-ranks of lost
    # 3.5 (six times) and 7.5; of failure right 2 (3 x), half 4, wrong 6.5 (4 x): rho 0.535.
    assert "rank correlation of a lost fact and an answer that is not right: 0.5" in head
    assert "8 answers, 2 conversations" in head
    assert "t over conversations" in head
    assert "n too small for claims" in head


def test_ten_conversations_have_a_cluster_bootstrap_and_no_disclaimer(tmp_path):
    cells = [(answered(f"t{at}"), (FIRST, SECOND)[at % 2]) for at in range(10)]

    head = validity(run_of(tmp_path, *cells)).headline[1]

    assert "percentile bootstrap of conversations" in head
    assert "too small" not in head


def test_a_next_call_is_held_against_the_needs_of_its_request_beyond_a_a(tmp_path):
    columns = ["digest", "class", "kind", "request", "gap", "status"]
    sidecar = {
        "needs": {
            "columns": columns,
            "rows": [
                ["d", "path", "need", 3, 4, "lost"],
                ["e", "path", "need", 4, 4, "visible_source"],
                ["f", "path", "quote", 5, 4, "lost"],
                ["g", "path", "need", 6, 4, "lost"],
                ["h", "path", "need", 7, 4, "lost"],
                ["i", "path", "need", 8, 4, "lost"],
            ],
        },
        "next_actions": [
            {"request": 3, "repeated": "same call", "compacted": "other tool"},
            {"request": 4, "repeated": "same call", "compacted": "same call"},
            {"request": 5, "repeated": "same call", "compacted": "other tool"},
            {"request": 6, "repeated": "same call", "compacted": "unrecorded"},
            {"request": 7, "repeated": "no proposal", "compacted": "same call"},
            {"request": 8, "repeated": "other tool", "compacted": "same tool"},
        ],
    }
    acted = row("a", "plain", saving=0.5, action_model="small-model", actions_asked=3)

    notes = validity(run_of(tmp_path, (acted, sidecar))).notes

    (line,) = [note for note in notes if "next call" in note]
    # Needs lost, shown, lost; the call changes, stays, and changes as it does when asked twice: of
    # the two lost ones one counts, so 1 x 1 / sqrt(2 x 1 x 1 x 2).
    assert "beyond A/A: 0.50 (3 requests, 1 conversation" in line


def test_settings_that_sent_the_same_view_are_one_answer(tmp_path):
    same = {**FIRST, "probe_view": "abc"}
    run = run_of(
        tmp_path,
        (answered("a"), same),
        (answered("a", "other"), same),
        (answered("b"), same),
        (answered("a", "third"), {**FIRST, "probe_view": "def"}),
    )

    assert "12 answers, 2 conversations" in validity(run).headline[1]


def test_models_and_provenances_are_never_pooled(tmp_path):
    run = run_of(
        tmp_path,
        (answered("a"), FIRST),
        (answered("b", reader="other"), SECOND),
        (answered("c", provenance="authored"), SECOND),
    )

    data = [line.partition(": ")[0] for line in validity(run).headline[1::2]]

    assert data == ["recorded, small-model", "recorded, other", "authored, small-model"]


def test_every_report_prints_it_even_if_it_is_low(tmp_path):
    bad = {"probes": [probe("lost", "right", verdict="lost"), probe("restated", "wrong")]}
    run = run_of(tmp_path, (answered("a"), bad))

    console = Console(width=200, record=True)
    console.print(tables.terminal(run, width=200))
    shown = " ".join(console.export_text().split())
    for text in (shown, " ".join(tables.markdown(run).split()), html(run)):
        assert TITLE in text
        assert "a lost fact and an answer that is not right: -1.00" in text
    assert "restated 0 % of 1 (1)" in shown


def test_without_answers_there_is_nothing_to_say(tmp_path):
    assert validity(run_of(tmp_path, (row("a", "plain", saving=0.5), {}))) is None
