import unittest

from herbarium.errors import HerbError
from herbarium.services import taxa
from tests.gardens import garden


class Taxa(unittest.TestCase):
    def setUp(self):
        self.app = garden()

    def test_a_renamed_taxon_keeps_its_old_name_as_synonym(self):
        taxa.rename(self.app, "mira", "TX-000001", "Thalictrum morisonii")
        self.assertEqual(self.app.store.get("taxa", "TX-000001")["synonyms"], ["Thalictrum flavum"])

    def test_a_renamed_taxon_is_found_under_its_new_name(self):
        taxa.rename(self.app, "mira", "TX-000001", "Thalictrum morisonii")
        self.assertEqual(self.app.search.find("morisonii"), ["HB-000001", "HB-000002"])
        self.assertEqual(self.app.search.find("flavum"), [])

    def test_a_merge_moves_all_specimens(self):
        taxa.merge(self.app, "mira", "TX-000001", "TX-000002")
        self.assertEqual(self.app.stats.counts()["by_taxon"], {"TX-000002": 3})

    def test_a_taxon_cannot_be_merged_with_itself(self):
        with self.assertRaisesRegex(HerbError, "HB-400 TX-000001 cannot be merged with itself"):
            taxa.merge(self.app, "mira", "TX-000001", "TX-000001")
