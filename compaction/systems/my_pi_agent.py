"""The my_pi_agent system: three free layers, a summary when they are not enough, a session tree.

`MyPiAgent` is the recipe for an evaluation or an agent, `ContextManager` the library that the seed
describes, the functions are its layers one by one. Sessions are in `compaction.session`.

Where the seed is ambiguous or wrong, the default is sound and the literal reading a parameter (in
brackets):

1.  The tail begins with a user message (`cut="after_user"`: just behind one, as printed).
2.  If the whole conversation is smaller than the tail may be, the last turn is kept (as printed:
    nothing). Tail and estimate are measured alike; as printed, 4 characters of content a token.
3.  Without a user message to cut at, or if its turn alone is over, the cut is between groups. No
    call is made for less than it costs: the prompt and, within the budget, the previous summary.
    A summary that gains nothing is not kept, and the next waits until there is twice as much (as
    printed: one call at every request).
4.  L1 keeps groups whole, as its prose says; as printed it would orphan parallel results. Grown
    borders that meet mean no snip. Leading instructions and the summary are never snipped.
5.  L2 keeps the handle that L3 left (`literal_handles`: it is lost).
6.  A failure sends the free view, or the one before (`on_failure="history"`: all messages).
7.  A summary is made of the previous one and what it does not cover, after L3, and if that does not
    fit after L2 and L1 (`summary_input="all"`: of everything again, untreated).
8.  The ratio is of the view that was sent (`anchor="free"`: of the one before the summary).
9.  `covered_count` is an index into the list, instructions included; a summary restored from a
    session without them is found at its tail. `summarized_count` leaves them out, `tokens_after` is
    of the retained tail.
10. A draft in `<analysis>` is never the summary; unclosed tags are closed at the end
    (`extraction="printed"`). An empty summary is a failure.
11. `micro_keep_recent=0` spares no result; as printed it spares all.
12. The typed entry is written: its ids say what is covered and what is retained. The older one is
    read. The folded message is a user's; an entry without ids and count folds nothing.
13. A step back to the floor is allowed (`include_floor=False`), into the retained tail it is not.
14. The lost names of L3 are ours: handle as file name, `<persisted-output>` as marker.
15. The characters are those of `json.dumps` with its spaces.
16. A file may be in both lists, in each only once; lists that the model copied are dropped, and
    the oldest files where the lists grow too long (`bounded_footprint=False`: none).
17. Estimates are cut to whole tokens, 1 at least. `force_compact` needs a place to cut as well, but
    no amount.
18. The tail is treated by L3 and L2 like the rest (`retained_tail="raw"`: sent as it was).
19. A result whose call was condensed before it came is left out of the view, with an event, and is
    in what the next summary is made of.

The seed names no budget and is off without one; the strategy's default is 128,000 tokens. What L1
snips and L2 exchanges is gone from the view for good, the last user message included
(`keep_last_user` keeps it).

What the seed says -> symbol -> test:

- tokens are JSON characters of role, content and metadata, a quarter of them at first
  `estimate_tokens` test_the_estimate_is_a_quarter_of_the_json_characters
  test_chinese_text_counts_as_it_is_written_and_not_as_escapes test_tool_calls_count_as_metadata
- then times the ratio of the last usage to the view that was sent
  `ContextManager.record_usage` test_usage_anchors_the_next_estimate
  test_after_a_summary_the_ratio_is_of_the_view_sent_unless_read_literally
- L3: over 20,000 characters into a file, marker, path and 2,000 characters are left
  `budget_tool_results` test_a_large_result_goes_to_a_file_and_leaves_its_path_and_a_preview
- L3: no folder or no disk keeps the result
  `budget_tool_results` test_without_a_folder_a_large_result_stays
  test_a_folder_that_cannot_be_made_keeps_the_result_and_says_so
- L1: over 50 messages 3 + marker + 46 are left
  `snip_messages` test_fifty_messages_are_left_and_fifty_one_become_three_a_marker_and_forty_six
- L1: never between a call and its results
  `snip_messages` test_a_snip_leaves_no_second_result_of_parallel_calls_behind
- L2: all but five results of over 200 characters become a placeholder, their metadata stay
  `micro_compact` test_micro_keeps_five_results_and_short_ones_and_every_call_id
- the order is L3, L1, L2, and a summary only if still over
  `PiCompactor.prepare` test_the_view_of_120_messages_is_the_golden_one
- over means more than 80 % of the budget
  `MyPiAgent.trigger_fraction`
  test_a_view_of_exactly_eighty_percent_is_sent_and_one_token_more_is_summarized
- `context_budget=None` switches it off
  `MyPiAgent.context_budget` test_no_budget_switches_everything_off
- the list of messages is never changed
  `ContextManager.prepare` test_the_list_of_the_agent_is_never_changed
- with a summary: system, summary, tail, and what is new after L3 and L2; L1 on all of it
  `FreeLayers.lay` test_after_a_summary_only_what_is_new_is_added
  test_three_instructions_and_the_summary_survive_the_snip
- the cached view costs no call, over the threshold it is summarized again
  `PiCompactor.prepare` test_the_cached_view_costs_no_further_call
  test_the_second_summary_is_made_of_the_first_and_the_new_turns
- the tail is a quarter of the budget and begins at a user's message
  `find_cut` test_the_tail_begins_with_the_user_message
  test_the_tail_is_a_quarter_of_the_budget_and_the_trigger_four_fifths
- the persona stays, the summary is a user's message
  `SummaryCache.entry` test_one_user_message_and_a_hundred_rounds_still_compact
- the summary is asked of the agent's model, without tools, in six sections
  `PiPrompt` test_the_request_is_the_seeds_prompt_word_for_word
  test_a_text_is_the_one_of_the_document
- the transcript is data, not instructions
  `SUMMARIZATION_SYSTEM_PROMPT` test_text_of_the_conversation_cannot_end_the_conversation
- a failed or empty summary changes nothing
  `PiCompactor` test_after_a_reply_that_is_no_summary_nothing_is_committed
- the draft is cut off, a reply without tags is taken as it is
  `extract_summary` test_the_summary_is_read_out_of_the_reply
- (ours) what gains nothing is not paid for again and again
  `PiCompactor` test_after_a_summary_that_gains_nothing_the_next_waits_for_twice_as_much
  test_a_long_list_of_files_leaves_the_oldest_out_unless_read_literally
- read and modified files stand below the summary and are carried over
  `FileLedger` test_the_files_of_condensed_calls_stand_below_the_summary_and_are_carried_over
  test_the_blocks_stand_as_in_the_seed
- what a summary amounts to is pending until the next request, in three groups
  `CompactionInfo` test_what_a_summary_amounts_to_is_pending_until_the_next_request
- the agent tells of it
  `ContextCompacted` test_the_event_carries_the_first_group_of_the_information
- it may be asked for by hand, restored, and forgotten
  `ContextManager.force_compact` test_force_compact_summarizes_far_below_the_threshold
  `ContextManager.restore_cache` test_an_older_entry_with_its_snapshot_is_restored
  `ContextManager.reset` test_reset_forgets_the_summary
- a compaction is an entry beside the path; the path does not move
  `Session.add_summary_cache` test_a_compaction_hangs_beside_the_path
- the typed entry holds the summary and the ids it replaces, appended to JSON lines
  `CompactionEntry` test_a_second_compaction_names_the_first_and_only_what_is_new
- the older entry with role system, tail and count is read
  `entry_from_json` test_the_older_entry_with_role_system_is_read
- entries fold into messages by a pure function
  `SessionState.from_entries` test_a_fold_keeps_what_stands_between_replaced_messages
- the path; its messages as they lie on it; the full history without compactions
  `Session.get_current_path` test_a_compaction_hangs_beside_the_path
  `Session.get_current_path_messages` `Session.get_full_history_messages`
  test_a_compaction_that_lies_on_the_path_is_no_part_of_the_history
- the deepest compaction is the latest
  `Session.get_latest_compaction_cache`
  test_the_latest_compaction_gives_the_three_things_that_are_restored
- no way back before the floor
  `Session.rewind` test_no_way_leads_back_before_the_floor
  test_the_floor_itself_is_refused_if_only_what_comes_after_is_wanted
- the bridge: folder of results, restoring, writing
  `ContextSessionBridge.results_dir` test_the_bridge_names_a_folder_beside_the_session_file
  `ContextSessionBridge.restore_cache` test_a_restarted_process_goes_on_without_paying_again
  `ContextSessionBridge.write_compaction`
  test_the_bridge_writes_a_summary_once_and_nothing_without_one
- the agent: view, chat, usage, tools, and again
  `compaction.agent.Agent` test_every_system_runs_in_the_loop
  `ContextManager` with `ContextSessionBridge`
  test_a_loop_killed_at_any_line_goes_on_without_paying_for_a_written_summary
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compaction.history import History, View
from compaction.messages import Message
from compaction.session_bridge import ContextSessionBridge
from compaction.store import FolderStore
from compaction.strategy import Context, Tier
from compaction.systems.my_pi_agent_layers import RecordChars
from compaction.systems.my_pi_agent_manager import ContextManager, chars_of
from compaction.systems.my_pi_agent_pipeline import (
    CHARS_PER_TOKEN,
    CompactionInfo,
    ContextCompacted,
    PiCompactor,
    tokens_of,
)
from compaction.systems.my_pi_agent_prompts import (
    SUMMARIZATION_PROMPT_TEMPLATE,
    SUMMARIZATION_SYSTEM_PROMPT,
    extract_summary,
)
from compaction.systems.my_pi_agent_strategy import OFFLOAD_MAX_CHARS, MyPiAgent

__all__ = [
    "CHARS_PER_TOKEN",
    "SUMMARIZATION_PROMPT_TEMPLATE",
    "SUMMARIZATION_SYSTEM_PROMPT",
    "CompactionInfo",
    "ContextCompacted",
    "ContextManager",
    "ContextSessionBridge",
    "MyPiAgent",
    "PiCompactor",
    "budget_tool_results",
    "estimate_tokens",
    "extract_summary",
    "micro_compact",
    "snip_messages",
]

_DEFAULTS: Final = MyPiAgent()


def estimate_tokens(messages: Sequence[Message], ratio: float | None = None) -> int:
    """Estimate tokens as JSON characters x `ratio`, or a quarter of them; at least 1."""
    return tokens_of(chars_of(messages), ratio)


def budget_tool_results(
    messages: Sequence[Message],
    max_chars: int = OFFLOAD_MAX_CHARS,
    results_dir: Path | None = None,
) -> list[Message]:
    """Write longer results to files and leave a preview (L3); without a folder, change nothing."""
    tier = MyPiAgent(offload_max_chars=max_chars).offload_tier()
    if results_dir is None or tier is None:
        return list(messages)
    return _applied(tier, messages, Context(counter=RecordChars(), store=FolderStore(results_dir)))


def snip_messages(
    messages: Sequence[Message], max_messages: int = _DEFAULTS.max_messages
) -> list[Message]:
    """Cut whole groups out of the middle of more than `max_messages` (L1)."""
    return _applied(MyPiAgent(max_messages=max_messages).snip_tier(), messages)


def micro_compact(
    messages: Sequence[Message],
    keep_recent: int = _DEFAULTS.micro_keep_recent,
    min_chars: int = _DEFAULTS.micro_min_chars,
) -> list[Message]:
    """Exchange older and longer results for a placeholder (L2)."""
    settings = MyPiAgent(micro_keep_recent=keep_recent, micro_min_chars=min_chars)
    return _applied(settings.micro_tier(), messages)


def _applied(
    tier: Tier, messages: Sequence[Message], context: Context | None = None
) -> list[Message]:
    view = View.of(History(messages))
    return list(tier.apply(view, context or Context(counter=RecordChars())).messages)
