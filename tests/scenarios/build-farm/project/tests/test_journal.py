import unittest

from lathe.journal import Journal, replay


class Replay(unittest.TestCase):
    def fill(self, records, per_segment):
        journal = Journal(per_segment)
        for number in range(records):
            journal.append(at=number, job="a", state=f"s{number}")
        return journal

    def test_the_last_record_wins(self):
        self.assertEqual(replay(self.fill(5, 12).segments), {"a": "s4"})

    def test_the_last_of_many_segments_wins(self):
        self.assertEqual(replay(self.fill(130, 12).segments), {"a": "s129"})

    def test_a_segment_holds_as_many_records_as_configured(self):
        segments = self.fill(25, 12).segments
        self.assertEqual([len(lines) for lines in segments.values()], [12, 12, 1])

    def test_a_record_that_was_cut_off_by_a_crash_is_ignored(self):
        segments = {"1.jsonl": ['{"job": "a", "state": "queued"}', '{"job": "a", "sta']}
        self.assertEqual(replay(segments), {"a": "queued"})
