import unittest

from lathe.config import Config
from lathe.retry import RetryPolicy
from tests.farms import SETTINGS


class Retry(unittest.TestCase):
    def setUp(self):
        self.policy = RetryPolicy(Config(SETTINGS))

    def test_permanent_codes_are_not_tried_again(self):
        for code in ("LT-001", "LT-088", "LT-424"):
            with self.subTest(code=code):
                self.assertFalse(self.policy.is_retryable(code, 1))

    def test_the_last_attempt_is_the_last(self):
        self.assertTrue(self.policy.is_retryable("LT-075", 3))
        self.assertFalse(self.policy.is_retryable("LT-075", 4))

    def test_the_delay_grows_and_is_capped(self):
        for attempt, raw in ((1, 20), (2, 40), (3, 80), (6, 300)):
            with self.subTest(attempt=attempt):
                delay = self.policy.delay_seconds("knot.app", attempt)
                self.assertTrue(raw <= delay <= raw + raw // 4, delay)

    def test_delays_are_repeatable(self):
        first = [self.policy.delay_seconds("knot.app", n) for n in (1, 2, 3)]
        again = [self.policy.delay_seconds("knot.app", n) for n in (1, 2, 3)]
        self.assertEqual(first, again)

    def test_jobs_that_failed_together_come_back_apart(self):
        delays = {self.policy.delay_seconds(f"job{n}", 3) for n in range(12)}
        self.assertGreater(len(delays), 4)
