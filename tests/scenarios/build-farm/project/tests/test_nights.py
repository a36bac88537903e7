import unittest

from lathe.cli import build


class Tuesday(unittest.TestCase):
    """The plan of 2026-05-12 with an empty cache, whatever the seed."""

    def run_seed(self, seed):
        farm = build("2026-05-12", seed=seed)
        farm.cache.artifacts.clear()
        return farm, farm.run()

    def test_the_night_is_over_before_the_horizon(self):
        for seed in (1, 2, 3, 5, 8, 13, 21, 34):
            with self.subTest(seed=seed):
                _, figures = self.run_seed(seed)
                self.assertEqual(figures["outcome"], "OVER")

    def test_only_the_broken_board_fails(self):
        for seed in (1, 2, 3, 5, 8, 13, 21, 34):
            with self.subTest(seed=seed):
                farm, _ = self.run_seed(seed)
                failed = [job_id for job_id, job in farm.jobs.items() if job.state == "failed"]
                self.assertEqual(failed, ["plover.hwtest"])
