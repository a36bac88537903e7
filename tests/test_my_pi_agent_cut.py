"""Where the retained tail begins, read soundly and as printed."""

from compaction.messages import Message
from compaction.systems.my_pi_agent_cut import find_cut, find_cut_as_printed
from tests.pi_cases import chat, one_order


def cut_of(messages: list[Message], tail_size: float, *, first: int = 1) -> int | None:
    """Cut by characters of content, every part being worth it and every tail small enough."""
    sizes = [len(message.text) for message in messages[first:]]
    return find_cut(
        messages,
        sizes,
        first,
        tail_size=tail_size,
        suits=lambda at: True,
        worthwhile=lambda at: True,
    )


def test_the_tail_begins_with_the_user_message() -> None:
    messages = chat(6)
    # The last turn is user, two rounds, answer; 100 characters reach into its last result.
    cut = cut_of(messages, 100)

    assert cut == len(messages) - 6
    assert messages[cut].role == "user"


def test_read_literally_the_tail_begins_behind_the_user_message() -> None:
    messages = chat(6)

    cut = find_cut_as_printed(messages, keep_recent_tokens=25)

    assert cut == len(messages) - 5
    assert messages[cut - 1].role == "user"


def test_a_budget_that_is_never_reached_keeps_the_last_turn() -> None:
    messages = [*chat(3), Message("user", "And now?")]

    assert cut_of(messages, 10**6) == len(messages) - 1
    # As printed nothing is kept: the open question is summarized away.
    assert find_cut_as_printed(messages, keep_recent_tokens=10**6) == len(messages)


def test_with_one_user_message_the_cut_is_between_groups() -> None:
    messages = one_order(10)

    cut = cut_of(messages, 650)

    # Two results of 303 characters and a step of 7 are 620; the third group is reached.
    assert cut == len(messages) - 6
    assert messages[cut].tool_calls
    assert find_cut_as_printed(messages, keep_recent_tokens=150) == 2
