"""The plugin in projects of users, one of which has packages named like ours."""

import subprocess
import sys

import pytest

from compaction.contract.invariants import INVARIANTS

pytest_plugins = ["pytester"]

LAZY = ("pandas", "openai", "hypothesis", "evals", "reports", "scipy", "pydantic")

COMPACTORS = """
def keep_all(messages):
    return messages


def keep_last_three(messages):
    return messages[-3:]


def hangs(messages):
    while True:
        pass


class Counted:
    def view(self, messages):
        return messages
"""


@pytest.fixture
def project(pytester):
    """A project with packages `evals` and `reports` of its own."""
    for name in ("evals", "reports"):
        pytester.mkpydir(name)
        (pytester.path / name / "mine.py").write_text("OWNER = 'the user'\n")
    pytester.makepyfile(compactors=COMPACTORS)
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider -p no:benchmark\n")
    return pytester


def run(project, *arguments):
    """Run pytest in a process of its own, as a user does, where nothing of ours is imported."""
    return project.runpytest_subprocess("--compaction-examples=20", *arguments)


def run_here(project, *arguments):
    """Run pytest in this process, where it does not matter what has been imported before."""
    return project.runpytest_inprocess("--compaction-examples=20", *arguments)


def test_a_project_without_a_strategy_is_not_disturbed(project):
    project.makepyfile(
        test_it="""
        import sys

        def test_own_packages_and_nothing_heavy():
            from evals.mine import OWNER

            assert OWNER == "the user"
            loaded = {"pandas", "openai", "hypothesis", "scipy", "pydantic"} & set(sys.modules)
            assert "compaction.contract.pytest_plugin" in sys.modules
            assert not loaded
        """
    )

    result = run(project, "-W", "error", "--strict-markers", "-p", "no:hypothesispytest")

    result.assert_outcomes(passed=1)
    assert "compaction:" not in result.stdout.str()


def test_loading_the_plugin_imports_nothing_heavy():
    code = (
        f"import sys, compaction.contract.pytest_plugin\nprint(*(set(sys.modules) & set({LAZY!r})))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""


@pytest.mark.slow
def test_a_strategy_gets_an_item_per_invariant_beside_the_tests_of_the_project(project):
    project.makepyfile(test_it="def test_own():\n    from evals import mine")

    result = run(project, "--compaction-strategy", "compactors:keep_all", "-v")

    passed, skipped = result.parseoutcomes()["passed"], result.parseoutcomes()["skipped"]
    assert passed + skipped == len(INVARIANTS) + 1
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"*collected {len(INVARIANTS) + 1} items"])
    result.stdout.fnmatch_lines(["*calls_stay_paired PASSED*"])
    result.stdout.fnmatch_lines(["compaction: compactors:keep_all: 20 conversations in *"])
    result.stdout.fnmatch_lines(["*it changed none of them, so nothing was tested*"])


@pytest.mark.slow
def test_a_failure_is_read_without_a_traceback(project):
    result = run(project, "--compaction-strategy", "compactors.py:keep_last_three")

    assert result.ret == 1
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text.partition("short test summary")[0].partition("____")[2]
    result.stdout.fnmatch_lines(
        [
            "*I1 calls_stay_paired: Every result in the view follows its call*",
            "request *: *",
            "found in generated conversation *",
            "*role*",
        ]
    )


@pytest.mark.slow
def test_several_strategies_are_checked_and_k_chooses_among_their_items(project):
    result = run(
        project,
        "--compaction-strategy=compactors:keep_all",
        "--compaction-strategy=compactors:Counted",
        "-k",
        "order_is_kept",
    )

    result.assert_outcomes(passed=2, deselected=2 * (len(INVARIANTS) - 1))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("compactors:keep_nothing", "*there is no 'keep_nothing'*keep_all*"),
        ("nowhere:f", "*nowhere:f cannot be imported: ModuleNotFoundError*"),
        ("xunn", "*unknown strategy 'xunn' (did you mean 'xun'?)*"),
    ],
)
def test_a_strategy_that_is_not_there_is_one_line(project, spec, message):
    result = run_here(project, "--compaction-strategy", spec)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --compaction-strategy: {message}"])
    assert "Traceback" not in result.stderr.str()


def test_parameters_reach_a_system_of_this_project(project):
    result = run_here(
        project,
        "--compaction-strategy=xun",
        "--compaction-set=toolcall_keep_max=many",
    )

    result.stderr.fnmatch_lines(["ERROR: *xun: toolcall_keep_max must be int, got 'many'*"])


@pytest.mark.slow
def test_a_call_that_does_not_return_is_ended_and_named(project):
    result = run_here(
        project,
        "--compaction-strategy=compactors:hangs",
        "--compaction-time-budget=1",
        "-k",
        "every_input_is_answered",
    )

    result.assert_outcomes(failed=1, deselected=len(INVARIANTS) - 1)
    result.stdout.fnmatch_lines(["did not return within * s"])


@pytest.mark.slow
def test_the_fixture_fails_with_the_shrunk_conversation(project):
    project.makepyfile(
        test_it="""
        import pytest
        from compactors import keep_all, keep_last_three

        def test_good(compaction_check):
            compaction_check(keep_all, promises={"keeps_last_user": True})

        def test_bad(compaction_check):
            compaction_check(keep_last_three)

        def test_bad_by_name(compaction_check):
            compaction_check("compactors:keep_last_three")
        """
    )

    result = run(project)

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["I1 calls_stay_paired: *"])
    assert "Traceback" not in result.stdout.str()


def test_the_marker_says_how_long_to_look_and_what_may_be_broken(project):
    project.makepyfile(
        test_it=f"""
        import pytest
        from compactors import keep_last_three

        @pytest.mark.compaction(ignore={sorted(INVARIANTS)!r}, examples=3, seed=1)
        def test_everything_may_be_broken(compaction_check):
            compaction_check(keep_last_three)
        """
    )

    result = run_here(project, "--strict-markers")

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("compaction(exmples=3)", "the marker 'compaction' does not take exmples=; it takes *"),
        ("compaction(3)", "the marker 'compaction' does not take 3; it takes *"),
        ("compaction(ignore='never_shrinks')", "*there is no invariant 'never_shrinks'*"),
    ],
)
def test_a_wrong_marker_is_refused(project, marker, message):
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.{marker}
        def test_it(compaction_check):
            compaction_check(lambda messages: messages)
        """
    )

    result = run_here(project)

    assert result.ret != 0
    result.stdout.fnmatch_lines([f"*{message}"])
