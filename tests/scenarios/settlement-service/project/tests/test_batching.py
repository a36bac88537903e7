import unittest
from datetime import date, datetime

from settle.batching import berlin_offset, business_day, last_sunday


class LastSunday(unittest.TestCase):
    def test_2026(self):
        self.assertEqual(last_sunday(2026, 3), date(2026, 3, 29))

    def test_a_month_that_ends_on_a_sunday(self):
        self.assertEqual(last_sunday(2024, 3), date(2024, 3, 31))


class Offset(unittest.TestCase):
    def test_the_switch_is_at_one_utc(self):
        self.assertEqual(berlin_offset(datetime(2026, 3, 29, 0, 59)).seconds, 3600)
        self.assertEqual(berlin_offset(datetime(2026, 3, 29, 1, 0)).seconds, 7200)

    def test_the_switch_back_is_at_one_utc(self):
        self.assertEqual(berlin_offset(datetime(2026, 10, 25, 0, 59)).seconds, 7200)
        self.assertEqual(berlin_offset(datetime(2026, 10, 25, 1, 0)).seconds, 3600)


class BusinessDay(unittest.TestCase):
    def test_the_cutoff_itself_belongs_to_the_day(self):
        self.assertEqual(business_day(datetime(2026, 1, 12, 16, 0)), "2026-01-12")

    def test_after_the_cutoff_is_the_next_day(self):
        self.assertEqual(business_day(datetime(2026, 1, 12, 16, 1)), "2026-01-13")

    def test_the_cutoff_on_the_day_of_the_switch(self):
        self.assertEqual(business_day(datetime(2026, 3, 29, 15, 30)), "2026-03-30")
