"""Settings with their defaults."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    loan_days: int = 90
    extension_days: int = 30
    import_rows: int = 500
    """The largest file that is imported in one go."""
    page_rows: int = 40
    """Rows of one page of the API and the CLI."""
