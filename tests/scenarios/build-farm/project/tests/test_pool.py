import unittest

from lathe.workers import Pool
from tests.farms import worker


class Labels(unittest.TestCase):
    def test_a_label_can_be_added(self):
        pool = Pool([worker(1)])
        pool.add_label("w01", "bigmem")
        self.assertEqual(pool.labels_of("w01"), ("arm", "host", "bigmem"))

    def test_a_new_pool_has_only_its_own_labels(self):
        self.assertEqual(Pool([worker(1)]).labels_of("w01"), ("arm", "host"))

    def test_idle_workers_come_in_order_of_their_ids(self):
        pool = Pool([worker(3), worker(1), worker(2)])
        self.assertEqual([w.worker_id for w in pool.idle()], ["w01", "w02", "w03"])
