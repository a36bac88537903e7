"""JUnit and SARIF of `check` hold what their readers take, and nothing else."""

import json
from xml.etree import ElementTree

import pytest
from jsonschema import Draft7Validator

from compaction.contract.search import Plan, search
from compaction.contract.targets import Target
from evals.check_reports import junit, sarif
from tests.report_schemas import SARIF, junit_faults

FILES = {
    "mine.py:drops": "def drops(messages):\n    return messages[-1:]\n",
    "mine.py:keeps": "def keeps(messages):\n    return messages\n",
    "a b é%.py:drops": "def drops(messages):\n    return messages[-1:]\n",
    "odd.py:odd": "def odd(messages):\n    raise ValueError('\\x1b[31m \\uffff <&> \\x00')\n",
    "made.py:made": "exec('def made(messages): return []')\n",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Return spec -> (JUnit, SARIF), of what is broken in every way and of what is whole."""
    found = {}
    for number, (spec, code) in enumerate(FILES.items()):
        folder = tmp_path_factory.mktemp(f"checked{number}")
        (folder / spec.partition(":")[0]).write_text(code, "utf-8")
        found[spec] = written(Target(spec, folder=folder), folder)
    return {**found, "xun": written(Target("xun"), tmp_path_factory.mktemp("known"))}


def written(target, folder):
    outcome = search(target, Plan(examples=2))
    return ElementTree.fromstring(junit(target, outcome, folder).encode()), json.loads(
        sarif(target, outcome, folder)
    )


@pytest.mark.parametrize("spec", [*FILES, "xun"])
def test_sarif_is_what_the_standard_allows(reports, spec):
    _, log = reports[spec]

    faults = [f"{fault.json_path}: {fault.message}" for fault in validator().iter_errors(log)]

    assert faults == []
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(ids)) == len(ids)
    assert all(ids[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert bool(run["results"]) == ("drops" in spec or spec.startswith(("odd", "made")))


@pytest.mark.parametrize("spec", [*FILES, "xun"])
def test_junit_is_what_jenkins_and_ant_know(reports, spec):
    root, _ = reports[spec]

    assert junit_faults(root) == []


def validator():
    Draft7Validator.check_schema(SARIF)
    return Draft7Validator(SARIF)


def set_at(log, path, value):
    *parents, last = path
    for step in parents:
        log = log[step]
    if value is None:
        del log[last]
    else:
        log[last] = value


RUN = ("runs", 0)
RESULT = (*RUN, "results", 0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), "2.0.0"),
        (("runs",), None),
        (("made_up",), 1),
        ((*RUN, "tool", "driver", "name"), None),
        ((*RUN, "columnKind"), "characters"),
        ((*RUN, "tool", "driver", "rules", 0, "id"), None),
        ((*RUN, "tool", "driver", "rules", 0, "defaultConfiguration", "level"), "fatal"),
        ((*RESULT, "message", "text"), None),
        ((*RESULT, "level"), "fatal"),
        ((*RESULT, "line"), 3),
        ((*RESULT, "locations", 0, "physicalLocation", "artifactLocation", "uri"), "a b.py"),
        ((*RESULT, "locations", 0, "physicalLocation", "region", "startLine"), 0),
    ],
)
def test_the_schema_refuses_what_the_standard_does_not_allow(reports, path, value):
    log = json.loads(json.dumps(reports["mine.py:drops"][1]))

    set_at(log, path, value)

    assert list(validator().iter_errors(log))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('failures="', 'failures="1'),
        ('time="0"', 'time="soon"'),
        ("<failure type=", "<failure kind="),
        ("</testcase>", "<note /></testcase>"),
        ('name="calls_stay_paired"', 'name="never_grows"'),
    ],
)
def test_the_check_of_junit_finds_what_no_reader_takes(reports, old, new):
    text = ElementTree.tostring(reports["mine.py:drops"][0], encoding="unicode")
    assert old in text

    assert junit_faults(ElementTree.fromstring(text.replace(old, new, 1)))
