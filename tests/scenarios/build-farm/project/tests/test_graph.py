import unittest

from lathe.graph import CycleError, Graph
from tests.farms import diamond, job


class Order(unittest.TestCase):
    def test_dependencies_come_first(self):
        self.assertEqual(Graph(diamond()).order(), ["lib", "a", "b", "c", "image"])

    def test_a_cycle_is_refused(self):
        rows = {"a": job("a", "b"), "b": job("b", "a")}
        with self.assertRaisesRegex(CycleError, "LT-900: cycle among a, b"):
            Graph(rows).order()

    def test_an_unknown_dependency_is_named(self):
        with self.assertRaisesRegex(KeyError, "a: unknown dependency zz"):
            Graph({"a": job("a", "zz")})


class Failure(unittest.TestCase):
    def test_direct_users_are_doomed(self):
        self.assertEqual(Graph(diamond()).doomed_by("a"), ["image"])

    def test_users_of_users_are_doomed(self):
        self.assertEqual(Graph(diamond()).doomed_by("lib"), ["a", "b", "c", "image"])

    def test_a_finished_user_is_not_doomed(self):
        jobs = diamond()
        jobs["a"].state = "done"
        self.assertNotIn("a", Graph(jobs).doomed_by("lib"))
