import unittest

from relay.settings import load, total_wait_seconds


class SettingsTest(unittest.TestCase):
    def test_queue_keeps_its_name(self):
        self.assertEqual(load()["delivery"]["queue"], "obs-inbound-7")

    def test_total_wait_counts_every_delay(self):
        settings = {"delivery": {"retry_delays_seconds": [15, 40, 105]}}
        self.assertEqual(total_wait_seconds(settings), 160)
