import unittest
from dataclasses import replace

from settle.config import load_config
from settle.payouts import build_payout, payout_reference, total_by_currency

CONFIG = load_config()
PARTNER = CONFIG.partners["prt_8842"]
DAY = "2026-03-29"


class Reference(unittest.TestCase):
    def test_it_names_day_and_partner(self):
        self.assertEqual(payout_reference(PARTNER, DAY), "STL-20260329-8842")


class Status(unittest.TestCase):
    def test_the_minimum_comes_from_the_configuration(self):
        least = CONFIG.get("payout", "min_payout_minor")
        self.assertEqual(build_payout(PARTNER, least, DAY, CONFIG).status, "ready")
        self.assertEqual(build_payout(PARTNER, least - 1, DAY, CONFIG).status, "carried")

    def test_a_hold_wins(self):
        held = replace(PARTNER, hold=True)
        self.assertEqual(build_payout(held, 99999, DAY, CONFIG).status, "held")

    def test_a_new_partner_waits(self):
        self.assertEqual(build_payout(CONFIG.partners["prt_2254"], 9999, DAY, CONFIG).note, "new partner")


class Totals(unittest.TestCase):
    def test_only_ready_payouts_count(self):
        ready = build_payout(PARTNER, 50000, DAY, CONFIG)
        self.assertEqual(total_by_currency([ready, replace(ready, status="held")]), {"EUR": 50000})
