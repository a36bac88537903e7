import unittest

from lathe.cachekey import artifact_key
from tests.farms import job


class Keys(unittest.TestCase):
    def test_the_same_job_has_the_same_key(self):
        self.assertEqual(artifact_key(job("a"), ["k1"]), artifact_key(job("a"), ["k1"]))

    def test_other_sources_have_another_key(self):
        self.assertNotEqual(artifact_key(job("a"), []), artifact_key(job("a", sources="77"), []))

    def test_another_toolchain_has_another_key(self):
        old = artifact_key(job("a", toolchain="armcc-14.2"), [])
        self.assertNotEqual(old, artifact_key(job("a", toolchain="armcc-14.3"), []))

    def test_the_order_of_the_inputs_does_not_matter(self):
        self.assertEqual(artifact_key(job("a"), ["k1", "k2"]), artifact_key(job("a"), ["k2", "k1"]))

    def test_the_order_of_the_flags_matters(self):
        fast = artifact_key(job("a", flags=("-O0", "-O2")), [])
        self.assertNotEqual(fast, artifact_key(job("a", flags=("-O2", "-O0")), []))

    def test_fields_do_not_run_into_each_other(self):
        one = artifact_key(job("a", flags=("-DX=1", "2")), [])
        self.assertNotEqual(one, artifact_key(job("a", flags=("-DX=12",)), []))
