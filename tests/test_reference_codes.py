"""Which words of capitals and digits are codes, and where a code occurs."""

import pytest

from evals.extraction.reference_codes import MIN_CODE_CHARS, is_code
from evals.extraction.references import extract_references, occurs_in

CODES_TEXT = """
WO-58134 JIRA-1234 HAT229 TS2322 YAX4DR S61CZX 4OG6T3 W5061109 STL-20260329-7021-2 INSP-26-45
EC-2024-09 CVE-2024-12345 KB-133 O-779013 WX3-90377 CAI-48-OLV T-55102 CU-D-5530 BOH180
"""
NO_CODES_TEXT = """
UTF-16 SHA-256 ISO-8859-1 RFC-2119 ES2022 SHA256 COVID-19 GPT-4 A10-B20 P0-P4 1E-1007 123E-10
A855F7 60A5FA 100000KB 1080P T100000Z 20260624T1030Z BASE64 X509V3 HTTP404 FLOAT32 PYTHON3 UTF8LE
IMAP4REV1 FY2024 2024-W12 G722 WO-1 SETTINGS TOP-LEVEL READ-ONLY wo-58134 Wo-58134 20260329 STEP-01
"""


def identifiers(text):
    return {found.value for found in extract_references(text) if found.kind == "identifier"}


@pytest.mark.parametrize("code", CODES_TEXT.split())
def test_a_code_is_an_identifier(code):
    assert is_code(code)
    assert identifiers(f"see {code}, then go on") == {code}


@pytest.mark.parametrize("word", NO_CODES_TEXT.split())
def test_standards_sizes_times_colours_and_ranges_are_no_codes(word):
    assert not is_code(word)
    assert identifiers(f"see {word}, then go on") == set()


def test_a_code_has_six_characters():
    assert MIN_CODE_CHARS == 6
    assert (is_code("KB-13"), is_code("KB-133")) == (False, True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("order #W5061109.", {"W5061109"}),
        ('{"flight": "HAT229"}', {"HAT229"}),
        ("(WO-58134)", {"WO-58134"}),
        ("WO-58134: pump", {"WO-58134"}),
        ("WO-58134/WO-58141", {"WO-58134", "WO-58141"}),
        ("the customer's KB-133's text", {"KB-133"}),
        ("订单WO-58134已发货", {"WO-58134"}),
        ("航班HAT229。", {"HAT229"}),
        ("fix TS2322 and\\nTS2345", {"TS2322", "TS2345"}),
    ],
)
def test_a_code_is_found_between_delimiters(text, found):
    assert identifiers(text) == found


def test_a_quoted_code_is_no_key_and_value_besides():
    assert {found.kind for found in extract_references('flight_number: "HAT229"')} == {"identifier"}


def test_a_file_named_by_a_code_stays_a_file():
    assert {(r.kind, r.value) for r in extract_references("open WO-58134.pdf")} == {
        ("path", "WO-58134.pdf")
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("settled STL-8842 today", True),
        ("branch STL-8842-fix-totals", True),
        ("settled STL-8842-2 today", False),
        ("settled EU-STL-8842 today", False),
        ("settled STL-88421 today", False),
        ("first STL-8842-2, then STL-8842", True),
    ],
)
def test_a_code_does_not_occur_in_a_longer_code(text, expected):
    assert occurs_in("STL-8842", text) is expected
