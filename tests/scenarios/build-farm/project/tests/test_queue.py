import unittest

from lathe.queue import ReadyQueue
from tests.farms import job

ARM = ("arm",)


def drain(queue, now=1000):
    found = []
    while (one := queue.pop(now, ARM)) is not None:
        found.append(one.job_id)
    return found


class Ranking(unittest.TestCase):
    def test_the_more_urgent_goes_first(self):
        queue = ReadyQueue()
        queue.push(job("slow", priority=7), 0)
        queue.push(job("urgent", priority=2), 0)
        self.assertEqual(drain(queue, 0), ["urgent", "slow"])

    def test_of_equals_the_longer_waiting_goes_first(self):
        queue = ReadyQueue()
        queue.push(job("zebra"), 0)
        queue.push(job("apple"), 30)
        self.assertEqual(drain(queue, 40), ["zebra", "apple"])

    def test_waiting_makes_more_urgent(self):
        queue = ReadyQueue(aging_seconds=600)
        queue.push(job("old", priority=9), 0)
        queue.push(job("new", priority=5), 3000)
        self.assertEqual(drain(queue, 3000), ["old", "new"])

    def test_the_same_job_twice_does_not_break_the_queue(self):
        queue = ReadyQueue()
        one = job("a")
        queue.push(one, 0)
        queue.push(one, 0)
        self.assertEqual(drain(queue, 0)[0], "a")


class Choosing(unittest.TestCase):
    def test_a_worker_gets_only_what_its_labels_allow(self):
        queue = ReadyQueue()
        queue.push(job("big", labels=("arm", "bigmem")), 0)
        self.assertIsNone(queue.pop(0, ARM))
        self.assertEqual(queue.pop(0, ("arm", "bigmem")).job_id, "big")

    def test_a_delayed_job_is_not_given_out_early(self):
        queue = ReadyQueue()
        queue.push(job("later", not_before=50), 0)
        self.assertIsNone(queue.pop(49, ARM))
        self.assertEqual(queue.pop(50, ARM).job_id, "later")
