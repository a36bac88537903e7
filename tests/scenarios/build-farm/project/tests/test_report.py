import unittest

from lathe.report import percentile


class Percentile(unittest.TestCase):
    def test_the_median_of_four_is_the_second(self):
        self.assertEqual(percentile([40, 10, 30, 20], 50), 20)

    def test_p95_of_twenty_is_the_nineteenth(self):
        self.assertEqual(percentile(range(1, 21), 95), 19)

    def test_p100_is_the_largest(self):
        self.assertEqual(percentile([1, 2, 3], 100), 3)

    def test_nothing_has_no_percentile(self):
        self.assertEqual(percentile([], 95), 0)
