"""Hypothesis profiles: `dev` is quick, `ci` (set by HYPOTHESIS_PROFILE) thorough and repeatable.

And the command line in the process of a test.
"""

import os
import sys

import pytest
from hypothesis import settings

# In CI the same examples each time: what is found at random belongs to whoever runs the tests.
settings.register_profile(
    "dev", max_examples=25, deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture
def command(capsys, monkeypatch):
    """Run the command line in this process: exit code, standard output, lines of standard error."""
    from evals.cli import main

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["compaction-evals", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return stopped.value.code, said.out, said.err.splitlines()

    return call
