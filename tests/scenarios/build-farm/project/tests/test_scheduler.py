import unittest

from tests.farms import count, diamond, farm, job, worker


class Healthy(unittest.TestCase):
    def test_every_job_of_a_small_plan_is_done(self):
        figures = farm(diamond(), [worker(1), worker(2)]).run()
        self.assertEqual((figures["outcome"], figures["done"]), ("OVER", 5))

    def test_a_job_runs_once(self):
        for seed in range(12):
            with self.subTest(seed=seed):
                one = farm(diamond(), [worker(1), worker(2)], seed)
                one.run()
                self.assertEqual(one.runs, {"lib": 1, "a": 1, "b": 1, "c": 1, "image": 1})

    def test_no_pin_is_left_at_the_end(self):
        one = farm(diamond(), [worker(1), worker(2), worker(3)])
        one.run()
        self.assertEqual({key: n for key, n in one.cache.pins.items() if n}, {})


class Drift(unittest.TestCase):
    def run_with(self, offset, seed=41, cost=200):
        jobs = diamond()
        for one in jobs.values():
            one.cost_seconds = cost
        coordinator = farm(jobs, [worker(1), worker(2, offset)], seed)
        coordinator.run()
        return coordinator

    def test_a_slow_clock_costs_no_lease(self):
        for offset in (-20, -47, -110, -400):
            with self.subTest(offset=offset):
                self.assertEqual(count(self.run_with(offset), "expired"), 0)

    def test_a_slow_clock_leaves_no_pin_behind(self):
        coordinator = self.run_with(-110)
        self.assertEqual({key: n for key, n in coordinator.cache.pins.items() if n}, {})

    def test_a_late_result_changes_nothing(self):
        coordinator = self.run_with(-400, cost=500)
        self.assertEqual(coordinator.runs["image"], 1)
        self.assertTrue(all(n >= 0 for n in coordinator.cache.pins.values()), coordinator.cache.pins)


class Failing(unittest.TestCase):
    def test_a_temporary_failure_is_repaired(self):
        jobs = diamond()
        jobs["b"].fails = ("LT-075",)
        figures = farm(jobs, [worker(1), worker(2)]).run()
        self.assertEqual((figures["done"], figures["failed"]), (5, 0))

    def test_out_of_memory_goes_to_a_large_worker(self):
        jobs = diamond()
        jobs["b"].fails = ("LT-137",)
        one = farm(jobs, [worker(1), worker(2, labels=("arm", "bigmem"))])
        self.assertEqual(one.run()["done"], 5)

    def test_a_permanent_failure_ends_the_night_early(self):
        jobs = diamond()
        jobs["lib"].fails = ("LT-001",)
        one = farm(jobs, [worker(1)])
        figures = one.run()
        self.assertEqual(figures["outcome"], "OVER")
        self.assertEqual((figures["failed"], figures["skipped"]), (1, 4))
        self.assertLess(one.clock.now, 200)

    def test_another_toolchain_of_an_input_is_reported_once(self):
        jobs = diamond()
        jobs["a"].toolchain = "armcc-14.2"
        one = farm(jobs, [worker(1), worker(2)])
        one.run()
        self.assertEqual(one.runs["a"], 1)


class Inputs(unittest.TestCase):
    def chain(self, capacity):
        rows = [job("lib", size_kib=400), job("a", "lib", size_kib=400)]
        rows += [job(f"x{n}", size_kib=400) for n in range(4)]
        rows += [job("image", "lib", "a", size_kib=400, priority=9)]
        return farm({row.job_id: row for row in rows}, [worker(1), worker(2)], cache={"capacity_kib": capacity})

    def test_enough_space_means_no_missing_input(self):
        one = self.chain(4000)
        self.assertEqual(one.run()["outcome"], "OVER")
        self.assertFalse([line for line in one.log.lines if "LT-404" in line])

    def test_a_missing_input_is_built_again_and_only_once(self):
        one = self.chain(1300)
        self.assertEqual(one.run()["outcome"], "OVER")
        self.assertLessEqual(max(one.runs.values()), 3, one.runs)


class Restart(unittest.TestCase):
    def test_a_restart_repeats_no_finished_job(self):
        for moment in (150, 400, 650, 900):
            with self.subTest(moment=moment):
                rows = [job(f"j{n:02d}", cost_seconds=50) for n in range(40)]
                jobs = {row.job_id: row for row in rows}
                one = farm(jobs, [worker(1), worker(2), worker(3)], restart_at=moment)
                one.run()
                again = {job_id: n for job_id, n in one.runs.items() if n > 1}
                self.assertEqual(again, {})
