import unittest

from lathe.clock import VirtualClock
from lathe.config import load_config
from lathe.events import EventLog
from lathe.scheduler import Coordinator


class Settings(unittest.TestCase):
    def test_no_setting_of_the_farm_falls_back_to_a_default(self):
        config, clock = load_config(), VirtualClock("2026-05-12")
        Coordinator({}, [], config, clock, EventLog(clock))
        self.assertEqual(config.used_defaults, [])
