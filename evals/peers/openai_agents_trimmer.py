"""The OpenAI Agents SDK's `ToolOutputTrimmer` as a compactor of OpenAI message dicts.

Needs the extra `peer-openai-agents`. The trimmer sees the conversation as items of the Responses
API; the texts of tool outputs that it changed are taken over.
"""

from typing import Any

from agents.extensions import ToolOutputTrimmer
from agents.run_config import CallModelData, ModelInputData

from compaction.contract.providers import to_openai_responses
from compaction.messages import Json, messages_from_openai


class Trimmer:
    """Trims from the whole history before each request."""

    mode = "viewing"

    def __init__(
        self, recent_turns: int = 1, max_output_chars: int = 200, preview_chars: int = 60
    ) -> None:
        self.promises = {"mode": "viewing", "keeps_system": True, "keeps_last_user": True}
        self._trim = ToolOutputTrimmer(
            recent_turns=recent_turns,
            max_output_chars=max_output_chars,
            preview_chars=preview_chars,
        )

    def view(self, messages: list[Json]) -> list[Json]:
        converted = to_openai_responses(messages_from_openai(messages))
        items: list[Any] = converted.body["input"]
        # The trimmer does not look at it.
        no_agent: Any = None
        data: CallModelData[Any] = CallModelData(
            model_data=ModelInputData(input=items, instructions=None),
            agent=no_agent,
            context=None,
        )
        returned = self._trim(data).input
        result = list(messages)
        for before, after, sources in zip(items, returned, converted.sources, strict=True):
            if after is not before:
                result[sources[0]] = {**messages[sources[0]], "content": after["output"]}
        return result
