"""What `check` writes for other tools: a test file, JUnit XML and SARIF.

None of them holds more of a conversation than the shrunk one that shows the fault.
"""

import inspect
import json
import os
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree

from compaction.contract.invariants import INVARIANTS
from compaction.contract.report import described, headline
from compaction.contract.search import Broken, Outcome
from compaction.contract.targets import Target
from compaction.errors import StrategyError
from compaction.messages import Json, messages_to_openai
from compaction.registry import STRATEGIES

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_CONTROLS: Final = (code for code in range(32) if code not in (9, 10, 13))
_NOT_IN_XML: Final = dict.fromkeys((*_CONTROLS, 0xFFFE, 0xFFFF))

_REPRODUCER: Final = Template(
    '''"""What `compaction-evals check` found; runs on its own under pytest."""

from pathlib import Path

import pytest

from compaction.contract.suite import check_conversation
from compaction.contract.targets import Target
from compaction.messages import messages_from_openai

TARGET = Target($spec, folder=Path(__file__).parent.joinpath($folder).resolve())

CASES = $cases


@pytest.mark.parametrize("invariant", CASES)
def test_the_invariant_is_kept(invariant):
    parameters, messages = CASES[invariant]

    found = check_conversation(
        TARGET.with_parameters(parameters), messages_from_openai(messages)
    )

    assert [item for item in found.violations if item.invariant == invariant] == []
'''
)


def reproducer(target: Target, outcome: Outcome, folder: Path) -> str:
    """Return a test module with a case per broken invariant, to be put into `folder`."""
    spec = target.spec
    if ":" not in spec and spec not in STRATEGIES:
        spec = target.table[spec]
    return _REPRODUCER.substitute(
        spec=repr(spec),
        folder=repr(Path(os.path.relpath(target.folder, folder)).as_posix()),
        cases="\n".join(["{", *map(_case, outcome.broken.values()), "}"]),
    )


def _case(broken: Broken) -> str:
    messages = "".join(f"            {raw!r},\n" for raw in messages_to_openai(broken.messages))
    return (
        f"    {broken.invariant!r}: (\n"
        f"        {dict(broken.parameters)!r},\n"
        f"        [\n{messages}        ],\n"
        "    ),"
    )


def junit(target: Target, outcome: Outcome, _folder: Path) -> str:
    """Return a test suite with a case per invariant; one that is not applicable is skipped."""
    skipped = len(INVARIANTS) - len(outcome.applicable)
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(target.spec),
        tests=str(len(INVARIANTS)),
        failures=str(len(outcome.broken)),
        errors="0",
        skipped=str(skipped),
        time=f"{outcome.seconds:.3f}",
    )
    for name, invariant in INVARIANTS.items():
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(target.spec), name=name, time="0"
        )
        if name in outcome.broken:
            broken = outcome.broken[name]
            failure = ElementTree.SubElement(
                case, "failure", type=invariant.id, message=_xml(headline(broken))
            )
            failure.text = _xml(described(broken))
        elif name not in outcome.applicable:
            reason = outcome.reasons.get(name, "nothing was checked")
            ElementTree.SubElement(case, "skipped", message=_xml(reason))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def sarif(target: Target, outcome: Outcome, _folder: Path) -> str:
    """Return a SARIF 2.1.0 log: a rule per invariant, a result per broken one.

    Source: OASIS, Static Analysis Results Interchange Format 2.1.0, sections 3.13 to 3.28.
    """
    names = list(INVARIANTS)
    location = _location(target)
    results = [
        {
            "ruleId": INVARIANTS[name].name,
            "ruleIndex": names.index(name),
            "level": INVARIANTS[name].severity,
            "message": {"text": f"{target.spec}: {headline(broken)}"},
            "locations": [location],
            "properties": _properties(broken),
        }
        for name, broken in outcome.broken.items()
    ]
    driver = {
        "name": "compaction-evals",
        "version": version("compaction-evals"),
        "rules": [_rule(name) for name in names],
    }
    log = {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(name: str) -> Json:
    invariant = INVARIANTS[name]
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("_")),
        "shortDescription": {"text": name.replace("_", " ")},
        "fullDescription": {"text": invariant.statement},
        "defaultConfiguration": {"level": invariant.severity},
        "properties": {"invariant": invariant.id, "fieldBugs": list(invariant.field_bugs)},
    }


def _properties(broken: Broken) -> Json:
    return {
        "request": broken.finding.request,
        "pointer": broken.finding.violation.pointer,
        "source": broken.source,
        "parameters": dict(broken.parameters),
        "conversation": messages_to_openai(broken.messages),
    }


def _location(target: Target) -> Json:
    """Return where the code stands, or only its name if that is in no file."""
    logical = {"fullyQualifiedName": target.spec, "kind": "function"}
    try:
        found = target.found()
        file, (_, line) = inspect.getsourcefile(found), inspect.getsourcelines(found)
    except (TypeError, OSError, StrategyError):
        return {"logicalLocations": [logical]}
    path = Path(file or "").resolve()
    folder = target.folder.resolve()
    is_inside = path.is_relative_to(folder)
    uri = quote(path.relative_to(folder).as_posix()) if is_inside else path.as_uri()
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": max(1, line)},
        },
        "logicalLocations": [logical],
    }


def _xml(text: str) -> str:
    """Return a text without what XML cannot hold, lone surrogates included."""
    return text.translate(_NOT_IN_XML).encode("utf-8", "replace").decode()
