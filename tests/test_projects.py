"""Which sessions are of one project, what a report says of it, and drawing whole projects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.messages import Message
from evals.projects import are_of_one_project, projects_of
from evals.results import ResultsError, Row
from evals.transcripts import Transcript, single_segment, to_native
from reports import compare_notes, compare_text, recommend_text, tables
from reports.compare import compare
from reports.frames import load
from reports.league import blocks
from reports.recommend import recommend
from reports.scope import scope
from reports.sides import Side
from tests.reports_cases import row, write_run


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("/home/me/work/cli", "/home/me/work/cli", True),
        ("/home/me/work/cli", "/home/me/work/cli/.worktrees/2", True),
        ("/home/me/cli/.worktrees/2", "/srv/cli", True),
        ("/home/me/cli/.claude/worktrees/fix", "/srv/cli", True),
        ("C:\\work\\cli", "D:\\old\\cli", True),
        ("/home/me/.tools/alpha", "/home/me/.tools/beta", False),
        ("/home/me/work/cli", "/home/you/cli", True),
        ("/home/me/work/cli", "/home/me/work/web", False),
        (None, None, False),
        ("retail", "telecom", False),
    ],
)
def test_worktrees_and_other_checkouts_are_one_project(one, other, is_same):
    assert are_of_one_project(one, other) is is_same


def test_folders_of_one_session_join_their_projects():
    found = projects_of(
        [
            ("s1", "/home/me/cli"),
            ("s1", "/tmp/scratch"),  # a sub-agent's
            ("s2", "/srv/scratch"),
            ("s3", "/home/me/cli/.worktrees/2"),
            ("s4", "/home/me/web"),
            ("s5", None),
        ]
    )

    assert found == {
        "s1": "/home/me/cli",
        "s2": "/home/me/cli",
        "s3": "/home/me/cli",
        "s4": "/home/me/web",
        "s5": None,
    }


@pytest.mark.parametrize(
    "place",
    [
        *("/", "", ".", "~", "/home/me", "/home/me/", "/Users/me", "/root", "/tmp"),
        *("/mnt/c/Users/me", "C:\\", "C:\\Users\\me", "c:/users/me/"),
    ],
)
def test_a_session_in_a_home_or_a_root_does_not_make_one_project_of_all(place):
    below = {
        "s1": "/home/me/cli",
        "s2": "/Users/me/web",
        "s3": "/root/a",
        "s4": "/tmp/b",
        "s5": "C:\\Users\\me\\c",
        "s6": "/mnt/c/Users/me/d",
        "s7": "e",
    }

    found = projects_of([*below.items(), ("here", place), ("there", place)])

    assert {name: found[name] for name in below} == below
    assert found["here"] == found["there"] == (place or None)


def test_a_session_that_went_to_its_project_from_home_is_of_that_project():
    home = "/home/me"
    found = projects_of(
        [
            ("s1", home),
            ("s1", f"{home}/cli"),
            ("s2", "/srv/cli"),
            ("s3", home),
            ("s3", f"{home}/web"),
        ]
    )

    assert found == {"s1": "/srv/cli", "s2": "/srv/cli", "s3": "/home/me/web"}


folders = st.lists(st.sampled_from(["a", "b", "c", ".worktrees"]), min_size=1, max_size=3)
pairs = st.lists(
    st.tuples(st.integers(0, 5), st.none() | folders.map(lambda parts: "/" + "/".join(parts))),
    max_size=10,
)


@given(pairs)
def test_what_is_of_one_project_has_one_name_in_whatever_order(sessions):
    found = projects_of(sessions)

    assert found == projects_of(sessions[::-1])
    for session, folder in sessions:
        for other, other_folder in sessions:
            if are_of_one_project(folder, other_folder):
                assert found[session] == found[other]


def rows_of(projects, changes=None):
    """Return a session for each project given, under `old` and `new`."""
    changes = changes or [0.0] * len(projects)
    return [
        row(
            f"t{at}", label, saving=0.5, reach=0.5 + by * (label == "new"), needs=9, project=project
        )
        for at, (project, by) in enumerate(zip(projects, changes, strict=True))
        for label in ("old", "new")
    ]


def test_a_report_says_from_how_many_projects_its_sessions_come(tmp_path):
    run = load(write_run(tmp_path / "run", rows_of(["/w/a", "/w/a", "/w/b", None])))

    said = scope(run, "recorded")

    assert said == (
        "3 sessions of 2 projects, and 1 session of unknown projects: intervals and tests are "
        "about further sessions of these projects, not about other projects (--cluster project "
        "draws whole projects)."
    )
    assert said in blocks(run)[0].notes
    assert said in tables.markdown(run)
    (comparison,) = compare(Side(run, "old"), Side(run, "new"))
    assert said in compare_notes.notes(comparison)


def test_nothing_is_said_where_no_project_is_known(tmp_path):
    run = load(write_run(tmp_path / "run", rows_of([None, None])))

    assert scope(run, "recorded") is None


def test_whole_projects_are_drawn_if_asked_for(tmp_path):
    # 20 sessions of each of 10 projects, alike within a project: they say no more than 10.
    projects = [f"/w/p{at % 10}" for at in range(200)]
    changes = [0.01 * (at % 10) for at in range(200)]
    path = write_run(tmp_path / "run", rows_of(projects, changes))
    alone = write_run(tmp_path / "alone", rows_of(projects[:10], changes[:10]))

    wide, narrow, one_each = (
        compare(Side(run, "old"), Side(run, "new"))[0].differences[0]
        for run in (load(path, cluster="project"), load(path), load(alone))
    )

    assert (wide.n, wide.n_clusters, narrow.n_clusters) == (200, 10, 200)
    assert wide.low == pytest.approx(one_each.low)
    assert wide.verdict_low == pytest.approx(one_each.verdict_low)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_sessions_of_few_projects_support_no_claim_about_others(tmp_path):
    projects = [f"/w/p{at % 3}" for at in range(30)]
    run = load(write_run(tmp_path / "run", rows_of(projects)), cluster="project")

    (block,) = blocks(run)
    (comparison,) = compare(Side(run, "old"), Side(run, "new"))

    assert block.title == "Recorded: 30 transcripts in 30 sessions"
    assert any("n too small" in note and "3 projects;" in note for note in block.notes)
    assert comparison.differences[0].verdict == "not supported"
    assert any(note.startswith("Below 10 projects") for note in compare_notes.notes(comparison))
    assert "n (projects)" in compare_text.markdown([comparison])
    assert scope(run, "recorded") == (
        "30 sessions of 3 projects: intervals and tests draw whole projects, wherever a text says "
        "session."
    )


def test_a_session_of_no_known_project_stands_alone(tmp_path):
    run = load(
        write_run(tmp_path / "run", rows_of(["/w/a", "/w/a", None, None])), cluster="project"
    )

    assert run.rows["cluster"].nunique() == 3
    assert scope(run, "recorded").endswith("; a session of no known project stands alone.")


def test_projects_that_nobody_knows_cannot_be_drawn(tmp_path):
    path = write_run(tmp_path / "run", rows_of([None]))

    with pytest.raises(ResultsError, match="knows no projects"):
        load(path, cluster="project")


def test_rows_of_an_older_program_have_no_project():
    old = row("a", "x").to_json()
    del old["project"]

    assert Row.from_json(old).project is None


@pytest.mark.parametrize("name", ["compare", "report", "recommend"])
def test_commands_and_config_take_cluster(tmp_path, command, name):
    path = write_run(tmp_path / "run", rows_of([f"/w/p{at % 3}" for at in range(12)]))
    given = [f"{path}::old", f"{path}::new"] if name == "compare" else [path]
    config = tmp_path / "flags.toml"
    config.write_text(f'[{name}]\ncluster = "project"\n', "utf-8")

    by_flag = command(name, *given, "--cluster", "project")
    by_file = command("--config", config, name, *given)

    said = " ".join(by_flag[1].split())
    assert by_flag[0] == (1 if name == "recommend" else 0)  # none reaches 90 %
    assert "12 sessions of 3 projects: intervals and tests draw whole projects" in said
    assert by_flag == by_file


def test_a_recommendation_deals_whole_projects_into_its_halves(tmp_path):
    projects = [f"/w/p{at % 60}" for at in range(180)]
    path = write_run(tmp_path / "run", rows_of(projects, [0.5] * 180))

    (whole,) = recommend(load(path, cluster="project"), min_reach=0.9, margin=0.1)
    (each,) = recommend(load(path), min_reach=0.9, margin=0.1)

    assert (whole.n_clusters, each.n_clusters) == (60, 180)
    assert (whole.confirmation.n_discovery, whole.confirmation.n_held_out) == (30, 30)
    assert (each.confirmation.n_discovery, each.confirmation.n_held_out) == (90, 90)
    assert "in 60 projects" in recommend_text.title(whole)
    assert whole.scope in list(recommend_text.sentences(whole))


def test_a_sweep_names_the_gate_with_its_clusters(tmp_path, command):
    logs = [native(tmp_path, f"s{at}", f"/w/{at}") for at in range(2)]
    given = ["sweep", "xun", *logs, "token_threshold=50%,75%", "--out", tmp_path / "out"]

    _, said, errors = command(*given, "--cluster", "project")

    assert "2 sessions of 2 projects: intervals and tests draw whole projects" in " ".join(
        said.split()
    )
    assert any(f"recommend {tmp_path / 'out'} --cluster project" in line for line in errors)


def native(folder, session, project):
    messages = (Message("user", "go"), Message("assistant", f"gone to {project}"))
    transcript = Transcript("t", single_segment(messages), session=session, project=project)
    path = folder / f"{session}.json"
    path.write_text(json.dumps(to_native(transcript)), "utf-8")
    return path


def test_a_run_writes_the_project_of_each_transcript(tmp_path, command):
    log = native(tmp_path, "s", "/w/a")
    out = tmp_path / "out"

    _, said, _ = command("run", log, "--strategy", "xun", "--no-controls", "--out", out)

    assert {
        json.loads(line)["project"] for line in (out / "rows.jsonl").read_text("utf-8").splitlines()
    } == {"/w/a"}
    assert "1 session of 1 project" in " ".join(said.split())
