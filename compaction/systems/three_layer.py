"""The `three_layer` system: its strategy, and the functions that its seed names.

An agent with a loop of its own calls the functions; `compaction.agent` and the replay use the
strategy. What the seed leaves open is settled here; literal readings are fields of `ThreeLayer`:

1.  Before a request run layers two and three; layer one ran when the output arrived.
2.  A transcript holds the originals (`literal_transcripts`: the placeholders). Those of the
    strategy continue each other, those of `compact_history` are the list that it was given.
3.  A failed summary leaves the history as it was; it is tried again before the next request.
    Without a transcript there is no compaction, unless `require_transcript` is off.
4.  Everything is replaced, as the seed says; `keep_system_prompt` and `keep_last_user` keep more.
    Calls whose results are still to come stay in any case, unless a user spoke in between: then a
    result that comes too late is left out, with an event.
5.  Files are named by call id, occurrence and content; ids that are no harmless names are hashed
    (`literal_handles`: the id alone, the first text wins).
6.  The size is the length of the JSON of the messages in characters.
7.  Ten kept results may exceed the limit: then every few requests end in a summary, but never
    two without new messages between them, and never one that is longer than what it replaces.
8.  A compaction that the agent asked for runs before the next request, the whole batch answered.
9.  Recent files: latest last, kept over compactions, failed reads left out
    (`literal_recent_files`: listed).
10. The placeholder of a persisted output still says where it is (`literal_placeholders`: not).

Each sentence of the seed, the symbol that does it, and the test that shows it:

Outputs over 30,000 characters go to a file, small ones come back as they are
    persist_large_output | test_a_small_output_comes_back_as_it_is_and_nothing_is_written
The context keeps the first 2,000 characters in a <persisted-output> block with the path
    persist_large_output | test_a_large_output_is_written_once_and_previewed
The file is named {tool_use_id}.txt, so every output has a place of its own
    ThreeLayer | test_literally_the_file_is_named_by_the_id_and_keeps_the_first_text
Idempotent: an existing file is not overwritten
    persist_large_output | test_a_large_output_is_written_once_and_previewed
Texts of blocked and denied calls pass through as well
    persist_large_output | test_the_text_of_a_denied_call_goes_the_same_way
All tool results but the latest ten become one line that says to run the tool again
    micro_compact | test_layer_two_keeps_the_last_ten_results_and_short_ones
Only results with more than 120 characters
    micro_compact | test_micro_compact_changes_old_long_results_only_and_keeps_other_objects
Layers one and two call no model
    pre_api_compress | test_pre_api_compress_runs_layer_two_and_calls_no_model_below_the_limit
Before each request: layer two, estimate, above 100,000 characters layer three
    pre_api_compress | test_pre_api_compress_replaces_everything_above_the_limit
    pre_api_compress | test_a_list_of_exactly_the_limit_is_sent_and_one_character_more_is_compacted
The size of the context is estimated in characters
    estimate_context_size | test_the_estimate_is_the_length_of_the_json_in_characters
At the limit nothing happens, above it the history is compacted
    ThreeLayer | test_layer_three_starts_above_the_limit_and_not_at_it
The conversation is written as JSONL to .transcripts/ first, for audit or recovery
    compact_history | test_the_transcript_restores_persisted_and_cleared_outputs
The same model writes the summary
    compact_history | test_the_client_may_be_one_of_the_openai_package
One user message replaces the whole history
    compact_history | test_layer_three_replaces_everything_by_one_user_message
COMPRESS_SYSTEM asks for five items, and forbids made-up paths, functions and structures
    COMPRESS_SYSTEM | test_the_summary_prompt_has_the_five_items_and_the_rules_against_invention
The focus is appended to the summary
    compact_history | test_compact_history_passes_the_focus_on_and_appends_it
The recently read files are appended to the summary
    ThreeLayer | test_recent_files_are_the_last_five_read_without_failed_ones
summarize_history() makes the summary
    summarize_history | test_summarize_history_returns_the_text_or_raises
Every read_file is tracked: at most five files, used again means moved to the end
    track_recent_file | test_track_recent_file_moves_a_known_file_to_the_end_and_drops_the_oldest
The state holds whether it compacted, the last summary and the recent files
    CompactState | test_pre_api_compress_replaces_everything_above_the_limit
The state is one per conversation (the seed: a global)
    CompactState | test_two_states_know_nothing_of_each_other
The agent may call compact with a focus; its answer is "Compacting conversation..."
    compact_tool | test_the_compact_tool_answers_its_placeholder_and_takes_a_focus
A manual compaction runs after the loop over the tools
    ThreeLayerCompactor | test_a_compact_call_replaces_the_whole_batch_and_its_focus_follows
turn() calls the layers at its places: a whole loop
    ThreeLayer | test_a_real_loop_compacts_and_finishes
"""

from compaction.agent_tools import COMPACT_PLACEHOLDER, COMPACT_TOOL, compact_tool
from compaction.systems.three_layer_full import (
    TOOL_RESULTS_DIR,
    TRANSCRIPTS_DIR,
    CompactState,
    track_recent_file,
)
from compaction.systems.three_layer_functions import (
    acompact_history,
    apre_api_compress,
    compact_history,
    estimate_context_size,
    micro_compact,
    persist_large_output,
    pre_api_compress,
    summarize_history,
)
from compaction.systems.three_layer_prompts import COMPRESS_SYSTEM, MICRO_PLACEHOLDER
from compaction.systems.three_layer_strategy import (
    CONTEXT_LIMIT,
    KEEP_RECENT_TOOL_RESULTS,
    PERSIST_THRESHOLD,
    ThreeLayer,
    ThreeLayerCompactor,
)

__all__ = [
    "COMPACT_PLACEHOLDER",
    "COMPACT_TOOL",
    "COMPRESS_SYSTEM",
    "CONTEXT_LIMIT",
    "KEEP_RECENT_TOOL_RESULTS",
    "MICRO_PLACEHOLDER",
    "PERSIST_THRESHOLD",
    "TOOL_RESULTS_DIR",
    "TRANSCRIPTS_DIR",
    "CompactState",
    "ThreeLayer",
    "ThreeLayerCompactor",
    "acompact_history",
    "apre_api_compress",
    "compact_history",
    "compact_tool",
    "estimate_context_size",
    "micro_compact",
    "persist_large_output",
    "pre_api_compress",
    "summarize_history",
    "track_recent_file",
]
