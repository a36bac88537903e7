"""How a reply becomes a summary."""

import pytest

from compaction.systems.my_pi_agent import extract_summary
from compaction.systems.my_pi_agent_prompts import extract_summary_as_printed

EXTRACTIONS = [
    ("plain", "plain", "plain"),
    ("<analysis>a</analysis><summary> s </summary>", "s", "s"),
    ("<analysis>a</analysis>no tags", "no tags", "no tags"),
    ("<analysis><summary>draft</summary></analysis><summary>s</summary>", "s", "draft"),
    ("<analysis>never closed <summary>s</summary>", "s", "s"),
    ("<analysis>never closed", "", "<analysis>never closed"),
    ("<analysis>a</analysis><summary>never closed", "never closed", "<summary>never closed"),
    ("<summary>we strip <analysis> here</summary>", "we strip <analysis> here", None),
    ("<summary>the tag </summary> ends it</summary>", "the tag </summary> ends it", "the tag"),
    ("Sure:<summary>s</summary>Anything else?", "s", "s"),
]


@pytest.mark.parametrize(("reply", "sound", "printed"), EXTRACTIONS)
def test_the_summary_is_read_out_of_the_reply(reply: str, sound: str, printed: str | None) -> None:
    assert extract_summary(reply) == sound
    assert extract_summary_as_printed(reply) == (sound if printed is None else printed)
