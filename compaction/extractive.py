"""A stand-in for a model: summaries made of the conversation's own lines. No network, no key.

The default where no model is given. Deterministic and linear; the rules are in `_collect`.
"""

from dataclasses import dataclass

from compaction.llm import ModelCall, ModelReply
from compaction.prompts import text_of


@dataclass(frozen=True, slots=True)
class ExtractiveModel:
    """Answers summary calls with lines of the subject and of the previous summary."""

    name: str = "extractive"

    def complete(self, call: ModelCall) -> ModelReply:
        lines = [line for message in call.subject for line in text_of(message).splitlines()]
        text = "\n".join([*(call.sections[:1]), *lines[-20:]])[:4_000]
        return ModelReply(text, model=self.name)

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)
