"""What a shell offers after a tab; where it offers nothing, the shell names files."""

from collections.abc import Iterable


def complete_strategy(incomplete: str) -> list[str]:
    """Offer the strategies that `list strategies` names."""
    from evals.settings import KNOWN

    return _beginning(KNOWN, incomplete)


def complete_listing(incomplete: str) -> list[str]:
    """Offer what can be listed."""
    from evals.listing import LISTINGS

    return _beginning(LISTINGS, incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
