"""The system xun, in one place to import from.

`Xun` is the recipe that an evaluation or an agent runs. `Conversation` with `Agent`,
`AutoCompactor` and `run_command` is the library that the seed describes. Both run the two levels
of `xun_levels`.

Where the seed leaves a choice, the default is sound and the literal reading a parameter of `Xun`
(in brackets):

1. Two cheap rounds in a row are enough, the third also summarises (`literal_last_round`: the second
   does). A check that is not over breaks the row (`reset_rounds_below_threshold=False`).
2. After a summary `total_tokens` is None; "still over" then means the total scaled by the share of
   the estimated length that is left, at 95 % of the threshold (`literal_total_reset`: never over;
   `literal_retry_limit`: at the threshold). Each reported total is acted on once.
3. A total at the threshold is not over; an estimate at exactly 95 % is no progress.
4. The estimate is tokens: total x share left (`literal_length_limit`: the characters themselves).
5. The last user message alone is pulled into the tail, so that one order and many rounds condense
   (`literal_last_user`: the tail reaches back to it, and nothing is left to condense).
6. A cut that would orphan results moves left to the whole group; a group still waiting for results
   is never cut off. A result whose call was condensed before it came is left out, with an event.
7. The summary takes the system prompt's place (`keep_system_prompt` adds it beside). A new system
   text keeps the summary as a section until the next one (`keep_summary=False` drops it).
8. A second summary sees the first (`literal_batch`: it does not).
9. Empty, refused, cut-off, grown or failed summaries are SUMMARIZE_FAILED and end the check;
   NOTHING_TO_CONDENSE, also where no summary could be smaller, goes on with halved keeps.
10. `keep_max=0` collects all. Halving rounds down, to 1 at least, and is forgotten after the check.
11. Originals are named by id, occurrence and content (`literal_ids`: by id, the first one wins).
12. Originals are part of the archive.

What the seed says -> symbol -> test:

- each class makes its request parameter and its stored form, a factory reads it back
  `SystemPrompt` `UserMessage` `RawOpenAIMessage` `message_from_json`
  test_every_message_is_read_back_from_what_it_stores
- persistent sections outlive compaction and are appended as they are
  `SystemPrompt.persist_sections`
  test_a_compressed_prompt_is_wrapped_and_keeps_its_sections_as_they_are
- images are normalised to data or http(s) URLs, PIL images to data URLs
  `Conversation.add_user_message` test_images_become_parts_behind_the_text
  test_a_pil_image_becomes_a_png_data_url
- the reasoning field is detected and written back
  `RawOpenAIMessage.reasoning_field`
  test_reasoning_is_found_in_either_field_and_sent_back_as_it_came
- the whole conversation is expanded into what is sent
  `Conversation.completion_params` test_a_system_prompt_sends_its_sections_behind_its_body
- the system message is replaced or inserted at 0, its sections stay
  `Conversation.set_system_message_content`
  test_the_system_message_is_replaced_or_inserted_first_and_keeps_its_sections
- an empty section is deleted; AGENTS.md is injected as one
  `Conversation.set_persistent_section` `Agent.sync_project_instructions`
  test_an_empty_section_is_deleted test_project_instructions_follow_the_file
- a schema goes onto the last message, ValueError if that is no user's
  `Conversation.set_response_schema` test_a_response_schema_is_attached_to_a_user_message_only
- an empty list of tool calls is removed
  `Conversation.add_agent_message` test_an_agent_message_loses_only_an_empty_list_of_calls
- a result is `value_str()`, or `[Error] Failed to serialize...`
  `Conversation.add_tool_result` test_a_tool_result_is_what_value_str_says
  test_a_result_that_cannot_be_serialised_becomes_an_error_text
- cancelling takes back a last user message
  `Conversation.pop_last_message_if_user` test_only_a_last_user_message_is_taken_back_on_cancel
- /retry excludes and /revise includes the user message, both return what they took
  `Conversation.pop_from_last_user_message` `run_command`
  test_popping_from_the_last_user_message_returns_what_it_took test_the_commands_do_what_they_say
- clearing keeps the system message and resets tokens, counts and originals
  `Conversation.clear` test_clearing_keeps_the_system_message_and_forgets_the_rest
- the history for display, cut at 1,000 characters
  `Conversation.to_history` `Conversation.content_to_text`
  test_the_history_for_display_is_cut_at_1000_characters_if_asked
- archives: key `tokens_used`, kinds system, user and raw
  `Conversation.dumps` `Conversation.load` test_the_archive_has_kinds_and_the_legacy_key
- archives from before 1.3.0 (KeyError in the original) are migrated
  `Conversation.loads` test_archives_from_before_1_3_0_are_migrated_without_a_loss
- total_tokens is the only criterion and None after a compaction
  `Xun.check_steps` test_nothing_happens_at_the_threshold_or_below_or_without_usage
  test_a_request_without_a_new_reply_compacts_nothing_again
- the estimated length counts four fields at any depth
  `Conversation.estimated_message_length`
  test_the_estimate_counts_text_and_reasoning_at_any_depth_and_nothing_else
- the flow chart: collect, still over? summarise, still over? again
  `Xun.check_steps` test_a_summary_that_is_not_enough_is_followed_by_passes_with_halved_keeps
- old results beyond keep_max become the placeholder, only if shorter
  `Conversation.compact_toolcall`
  test_above_the_threshold_old_results_go_and_the_estimate_scales_the_reported_total
  test_a_result_no_longer_than_its_placeholder_stays
- the first level reports how many results and which share went
  `ToolCallCompactResult`
  test_collecting_replaces_in_place_and_reports_the_share_that_is_gone
- extract_compacted_tool_result gives the original back
  `Conversation.compacted_toolcall_result` `Xun.agent_tools`
  test_the_tool_that_a_placeholder_names_gives_the_original_to_the_model
- no orphan at the cut, a user message in the tail
  `Conversation.compact` test_the_tail_begins_with_a_whole_group
  test_one_order_and_a_hundred_rounds_still_condense
- the sub-agent (one call: no tools, no compaction of its own) gets the batch without the sections
  `Conversation.compact_steps`
  test_the_summariser_sees_the_system_message_without_its_sections_and_the_batch
- eight sections, 1,024 tokens
  `compact_conversation`
  test_the_model_sees_the_system_message_the_batch_and_one_request_for_eight_sections
- the summary becomes the system prompt's content, summary_rounds + 1, tool rounds 0
  `COMPACTED_SYSTEM_PROMPT` `CompactionCounter`
  test_a_summary_goes_into_the_system_prompt_and_counts_as_a_round
  test_a_summary_starts_the_count_of_cheap_rounds_again
- a summariser that returns None gives up
  `Conversation.compact` test_a_summariser_that_fails_leaves_the_conversation_as_it_is
- nothing to condense or a failure leaves the conversation as it is
  `NOTHING_TO_CONDENSE` `SUMMARIZE_FAILED` test_nothing_to_condense_costs_no_call
  test_a_bad_reply_leaves_the_conversation_as_it_is
- the four parameters, the switch and the threshold
  `AutoCompactor` `AutoCompactConfig` `ESCALATION_RATIO` test_the_defaults_are_those_of_the_seed
  test_the_automatic_compactor_uses_its_fields_and_the_config
  test_numbers_are_those_of_the_documents
- own strategies inherit CompactorAbstract
  `CompactorAbstract` test_a_custom_compactor_inherits_and_implements_one_method
- /compact summarises only, /compact toolcall collects only
  `run_command` `ToolCallCompactResult` `SummaryCompactResult` test_the_commands_do_what_they_say

Not here: rendering (`/history`, `/render`) and the display options of the sub-agent.
"""

from compaction.conversation import Conversation
from compaction.conversation_messages import (
    ConversationMessage,
    RawOpenAIMessage,
    SystemPrompt,
    UserMessage,
    message_from_json,
)
from compaction.systems.xun_compact import (
    Agent,
    AutoCompactConfig,
    AutoCompactor,
    CompactorAbstract,
    compact_conversation,
    run_command,
)
from compaction.systems.xun_levels import (
    COMPACTED,
    NOTHING_TO_CONDENSE,
    SUMMARIZE_FAILED,
    CompactionCounter,
    SummaryCompactResult,
    ToolCallCompactResult,
)
from compaction.systems.xun_prompts import COMPACTED_SYSTEM_PROMPT
from compaction.systems.xun_strategy import ESCALATION_RATIO, Xun, XunCompactor

__all__ = [
    "COMPACTED",
    "COMPACTED_SYSTEM_PROMPT",
    "ESCALATION_RATIO",
    "NOTHING_TO_CONDENSE",
    "SUMMARIZE_FAILED",
    "Agent",
    "AutoCompactConfig",
    "AutoCompactor",
    "CompactionCounter",
    "CompactorAbstract",
    "Conversation",
    "ConversationMessage",
    "RawOpenAIMessage",
    "SummaryCompactResult",
    "SystemPrompt",
    "ToolCallCompactResult",
    "UserMessage",
    "Xun",
    "XunCompactor",
    "compact_conversation",
    "message_from_json",
    "run_command",
]
