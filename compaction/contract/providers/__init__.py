"""Converters to the requests of four APIs, and the profiles that know what each refuses."""

from collections.abc import Mapping
from typing import Final

from compaction.contract.providers.anthropic import ANTHROPIC, to_anthropic
from compaction.contract.providers.gemini import GEMINI, to_gemini
from compaction.contract.providers.openai_chat import OPENAI_CHAT, to_openai_chat
from compaction.contract.providers.openai_responses import (
    OPENAI_RESPONSES,
    to_openai_responses,
)
from compaction.contract.providers.profiles import (
    Converted,
    Illegality,
    Profile,
    check_messages,
)

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "PROFILES",
    "Converted",
    "Illegality",
    "Profile",
    "check_messages",
    "to_anthropic",
    "to_gemini",
    "to_openai_chat",
    "to_openai_responses",
]

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile for profile in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI)
}
"""Name -> profile."""
