"""When a failed job is tried again."""

import random

_RNG = random.Random(20260210)


class RetryPolicy:
    def __init__(self, config):
        self.max_attempts = config.get("retry", "max_attempts", 4)
        self.base_seconds = config.get("retry", "base_seconds", 20)
        self.cap_seconds = config.get("retry", "cap_seconds", 300)
        self.permanent = frozenset(config.get("retry", "permanent_codes", ["LT-001"]))

    def is_retryable(self, code, attempt):
        return code not in self.permanent and attempt < self.max_attempts

    def delay_seconds(self, job_id, attempt):
        """Return the delay before attempt + 1: exponential, capped, with up to 25 % of jitter."""
        raw = min(self.base_seconds * 2 ** (attempt - 1), self.cap_seconds)
        return raw + _RNG.randint(0, raw // 4)
