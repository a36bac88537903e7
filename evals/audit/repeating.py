"""The A/A check of an audit: a strategy that is asked once more must do the same."""

from compaction.extractive import ExtractiveModel
from compaction.llm import ChatModel
from evals.audit.contestants import Place, Placed, placed
from evals.foreign import is_foreign


def asked_again(found: Placed, place: Place, model: ChatModel) -> Placed | None:
    """Ask a strategy once more, with what was set for it.

    Returns:
        None if it was not asked: a user's code may have reasons to differ, and a model is paid.
    """
    if is_foreign(found.setting.strategy) or not isinstance(model, ExtractiveModel):
        return None
    return placed(found.setting, place, model)
