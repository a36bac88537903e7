import unittest

from lathe.config import Config, load_config
from lathe.lease import LeaseTable
from tests.farms import SETTINGS


class Leases(unittest.TestCase):
    def setUp(self):
        self.table = LeaseTable(Config(SETTINGS))

    def test_the_time_to_live_is_the_configured_one(self):
        self.assertEqual(LeaseTable(load_config()).ttl_seconds, load_config().data["lease"]["ttl_seconds"])

    def test_the_grace_is_the_configured_one(self):
        self.assertEqual(self.table.grace_seconds, 15)

    def test_a_lease_ends_after_its_time_to_live(self):
        lease = self.table.grant("a", "w01", 100)
        self.assertEqual(lease.expires_at, 220)

    def test_a_renewal_counts_from_the_heartbeat(self):
        lease = self.table.grant("a", "w01", 100)
        self.assertTrue(self.table.renew(lease.token, 130))
        self.assertEqual(lease.expires_at, 250)

    def test_a_lease_is_not_expired_at_the_end_of_its_grace(self):
        lease = self.table.grant("a", "w01", 0)
        self.assertEqual(self.table.expired(135), [])
        self.assertEqual(self.table.expired(136), [lease])

    def test_a_released_token_cannot_be_renewed(self):
        lease = self.table.grant("a", "w01", 0)
        self.table.release(lease.token)
        self.assertFalse(self.table.renew(lease.token, 30))
