"""What the number says with which a command ends; 0 is success."""

EXIT_FAILED = 1
"""Something was found: a cell failed, a strategy broke an invariant, or a file was not read."""
EXIT_USAGE = 2
"""Nothing could be done: wrong flags, nothing to read."""
EXIT_UNCONFIRMED = 3
"""`recommend` names a setting that no held-out sessions confirm."""
EXIT_INTERRUPTED = 130
