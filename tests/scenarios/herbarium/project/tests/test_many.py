import unittest

from herbarium.errors import HerbError
from herbarium.export import export_csv
from herbarium.services import bulk, importer, loans
from tests.gardens import garden

HEAD = "taxon,place,collector,collected_on\n"


class Many(unittest.TestCase):
    def setUp(self):
        self.app = garden()

    def test_an_import_adds_all_rows(self):
        text = HEAD + "TX-000001,Mill pond,A. Holm,2021-05-01\nTX-000002,Spit,A. Holm,2021-05-02\n"
        self.assertEqual(importer.import_csv(self.app, "mira", text), ["HB-000004", "HB-000005"])

    def test_an_import_with_a_bad_row_adds_none(self):
        text = HEAD + "TX-000001,Mill pond,A. Holm,2021-05-01\nTX-000002,,A. Holm,2021-05-02\n"
        with self.assertRaisesRegex(HerbError, "HB-400 row 2 has no place"):
            importer.import_csv(self.app, "mira", text)
        self.assertEqual(len(self.app.store.rows("specimens")), 3)

    def test_a_bulk_move_moves_all_or_none(self):
        loans.lend(self.app, "mira", "HB-000002", "Museum of Arden")
        with self.assertRaisesRegex(HerbError, "HB-409 HB-000002 is on loan"):
            bulk.move_all(self.app, "jonas", ["HB-000001", "HB-000002"], "Cabinet 9")
        self.assertEqual(self.app.store.get("specimens", "HB-000001")["cabinet"], "Intake")

    def test_the_columns_of_the_export_have_their_order(self):
        head = export_csv(self.app).splitlines()[0]
        self.assertEqual(head, "id,accession_year,taxon,family,place,collector,collected_on,cabinet")
