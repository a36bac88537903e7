import unittest

from lathe.cache import Artifact, ArtifactCache


def artifact(key, size=400, at=0):
    return Artifact(key, f"job-{key}", "host", size, at)


class Eviction(unittest.TestCase):
    def setUp(self):
        self.cache = ArtifactCache(1000)

    def test_the_oldest_goes_first(self):
        self.cache.put(artifact("a", at=1))
        self.cache.put(artifact("b", at=2))
        self.assertEqual([gone.key for gone in self.cache.put(artifact("c", at=3))], ["a"])

    def test_a_read_is_a_use(self):
        self.cache.put(artifact("a", at=1))
        self.cache.put(artifact("b", at=2))
        self.cache.lookup("a", 3)
        self.assertEqual([gone.key for gone in self.cache.put(artifact("c", at=4))], ["b"])

    def test_a_pinned_artifact_stays(self):
        self.cache.put(artifact("a", at=1))
        self.cache.pin("a")
        self.cache.put(artifact("b", at=2))
        self.assertEqual([gone.key for gone in self.cache.put(artifact("c", at=3))], ["b"])

    def test_if_all_are_pinned_the_cache_grows(self):
        for key in "abc":
            self.cache.pin(key)
            self.cache.put(artifact(key))
        self.assertEqual(self.cache.total_kib, 1200)

    def test_an_unpinned_artifact_can_go(self):
        self.cache.put(artifact("a", at=1))
        self.cache.pin("a")
        self.cache.unpin("a")
        self.cache.put(artifact("b", at=2))
        self.assertEqual([gone.key for gone in self.cache.put(artifact("c", at=3))], ["a"])


class Counting(unittest.TestCase):
    def test_hits_and_misses(self):
        cache = ArtifactCache(1000)
        cache.put(artifact("a"))
        cache.lookup("a", 1)
        cache.lookup("z", 1)
        self.assertEqual((cache.hits, cache.misses), (1, 1))
