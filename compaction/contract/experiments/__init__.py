"""The invariants that take further runs of a strategy, as functions of a drive that went well.

An experiment returns what it found, or as text why it could not decide.
"""
