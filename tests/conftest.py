"""Hypothesis profiles: `dev` is quick, `ci` (set by HYPOTHESIS_PROFILE) thorough and repeatable."""

import os

from hypothesis import settings

# In CI the same examples each time: what is found at random belongs to whoever runs the tests.
settings.register_profile(
    "dev", max_examples=25, deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
