"""Hypothesis profiles: `dev` is quick, `ci` (set by HYPOTHESIS_PROFILE) thorough and repeatable."""

import os

from hypothesis import settings

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
