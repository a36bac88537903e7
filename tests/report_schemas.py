"""What SARIF 2.1.0 and the JUnit format of Jenkins and Ant allow, of the parts that `check` writes.

Written from OASIS, Static Analysis Results Interchange Format (SARIF) 2.1.0, sections 3.4 to 3.58,
and from what Ant's formatter writes and Jenkins reads. Closed: whatever is not listed is refused.
"""

import re
from xml.etree import ElementTree

LEVELS = ["none", "note", "warning", "error"]
TEXT = {"type": "string", "minLength": 1}
BAG = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}


def closed(required=(), **properties):
    """Return the schema of an object that has no other properties than these, and a bag."""
    return {
        "type": "object",
        "properties": {**properties, "properties": BAG},
        "required": list(required),
        "additionalProperties": False,
    }


MULTIFORMAT = closed(["text"], text=TEXT, markdown=TEXT)
LOGICAL_LOCATION = closed(
    name=TEXT,
    index={"type": "integer", "minimum": -1},
    fullyQualifiedName=TEXT,
    decoratedName=TEXT,
    parentIndex={"type": "integer", "minimum": -1},
    kind=TEXT,
)
# RFC 3986: a space or a letter that is not ASCII has to be escaped.
URI = {"type": "string", "pattern": r"^([A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$"}
REGION = closed(
    startLine={"type": "integer", "minimum": 1}, startColumn={"type": "integer", "minimum": 1}
)
PHYSICAL_LOCATION = closed(
    ["artifactLocation"],
    artifactLocation=closed(["uri"], uri=URI, uriBaseId=TEXT),
    region=REGION,
)
LOCATION = closed(
    physicalLocation=PHYSICAL_LOCATION,
    logicalLocations={"type": "array", "items": LOGICAL_LOCATION, "uniqueItems": True},
)
RULE = closed(
    ["id"],
    id=TEXT,
    name=TEXT,
    shortDescription=MULTIFORMAT,
    fullDescription=MULTIFORMAT,
    defaultConfiguration=closed(level={"enum": LEVELS}, enabled={"type": "boolean"}),
)
RESULT = closed(
    ["message"],
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level={"enum": LEVELS},
    message=closed(["text"], text=TEXT),
    locations={"type": "array", "items": LOCATION},
)
DRIVER = closed(
    ["name"],
    name=TEXT,
    version=TEXT,
    rules={"type": "array", "items": RULE, "uniqueItems": True},
)
RUN = closed(
    ["tool"],
    tool=closed(["driver"], driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
)
SARIF = {
    **closed(["version", "runs"], version={"const": "2.1.0"}),
    "$schema": "http://json-schema.org/draft-07/schema#",
}
SARIF["properties"] |= {
    "$schema": {"type": "string", "pattern": "^https://"},
    "runs": {"type": "array", "items": RUN, "minItems": 1},
}

COUNT, SECONDS = re.compile(r"\d+"), re.compile(r"\d+(\.\d+)?")
JUNIT = {
    "testsuites": ({}, (), ("testsuite",)),
    "testsuite": (
        {"tests": COUNT, "failures": COUNT, "errors": COUNT, "skipped": COUNT, "time": SECONDS},
        ("name", "tests", "failures", "errors", "skipped", "time"),
        ("testcase",),
    ),
    "testcase": ({"time": SECONDS}, ("classname", "name", "time"), ("failure", "skipped")),
    "failure": ({}, ("type", "message"), ()),
    "skipped": ({}, ("message",), ()),
}
"""Element -> patterns of its attributes, all its attributes, its children. All are required."""


def junit_faults(root):
    """Return what is wrong with a JUnit report, a line each."""
    faults = [] if root.tag == "testsuites" else [f"the root is {root.tag}"]
    for element in root.iter():
        patterns, attributes, children = JUNIT.get(element.tag, ({}, (), ()))
        if element.tag not in JUNIT:
            faults.append(f"{element.tag} is no element")
            continue
        if set(element.attrib) != set(attributes):
            faults.append(f"{element.tag} has {sorted(element.attrib)}")
        faults += [
            f"{element.tag} {name} is {element.get(name)!r}"
            for name, pattern in patterns.items()
            if not pattern.fullmatch(element.get(name, ""))
        ]
        faults += [f"{each.tag} in {element.tag}" for each in element if each.tag not in children]
        if element.tag == "testcase" and len(element) > 1:
            faults.append(f"testcase {element.get('name')} has {len(element)} results")
        if element.tag != "failure" and (element.text or "").strip():
            faults.append(f"{element.tag} has a text")
    for suite in root.iter("testsuite"):
        faults += list(_miscounted(suite))
    return faults


def _miscounted(suite: ElementTree.Element):
    cases = suite.findall("testcase")
    counts = {
        "tests": len(cases),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    for name, count in counts.items():
        if suite.get(name) != str(count):
            yield f"{name} is {suite.get(name)}, and there are {count}"
    names = [(case.get("classname"), case.get("name")) for case in cases]
    if len(set(names)) != len(names):
        yield "two cases of one name"
