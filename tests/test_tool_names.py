import pytest

from evals.extraction.tool_names import is_read_only, is_writing


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Read", True),
        ("read_file", True),
        ("mcp__github__get_issue", True),
        ("fs.list", True),
        ("WebFetch", True),
        ("fileSearch", True),
        ("Write", False),
        ("bash", False),
        ("create_list", False),
        ("find_and_replace", False),
        ("thread", False),
        ("budget", False),
        ("get_dataset", True),
        ("setStatus", False),
        ("list_settings", True),
        ("LS", True),
        ("reset_view", True),
    ],
)
def test_a_tool_reads_if_its_name_says_so_and_says_no_writing(name, expected):
    assert is_read_only(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Write", True),
        ("edit_file", True),
        ("str_replace_editor", True),
        ("setStatus", True),
        ("find_and_replace", True),
        ("read_file", False),
        ("bash", False),
        ("get_dataset", False),
        ("reset_view", False),
    ],
)
def test_a_tool_writes_if_its_name_says_so(name, expected):
    assert is_writing(name) == expected
