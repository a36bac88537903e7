import unittest

from settle.config import load_config
from settle.gateway import Gateway, GatewayError
from settle.models import Payout
from settle.retry import delay_ms, is_retryable, send_payout

CONFIG = load_config()
PARTNER = CONFIG.partners["prt_7021"]
PAYOUT = Payout("prt_7021", "2026-03-29", 12345, "EUR", "STL-20260329-7021", "ready")


class Bank:
    """Answers with the given codes and remembers what it was sent."""

    def __init__(self, *codes):
        self.codes = list(codes)
        self.references = []

    def __call__(self, url, body):
        import json

        self.references.append(json.loads(body)["reference"])
        code = self.codes.pop(0)
        return {"code": code, "transfer_id": f"nbt_{len(self.references)}"}


def send(bank):
    gateway = Gateway(bank, "https://gateway.northbank.example/v2/transfers", "eu-batch-2")
    waits = []
    return send_payout(gateway, PAYOUT, PARTNER, CONFIG, waits.append), waits


class Codes(unittest.TestCase):
    def test_a_duplicate_reference_is_never_sent_again(self):
        self.assertFalse(is_retryable("GW-4127"))

    def test_an_unknown_code_is_not_sent_again(self):
        self.assertFalse(is_retryable("GW-9999"))

    def test_a_time_out_is_sent_again(self):
        self.assertTrue(is_retryable("GW-5040"))


class Delay(unittest.TestCase):
    def test_the_first_delay_is_the_base(self):
        self.assertEqual([delay_ms(n, 250, 8000) for n in (1, 2, 3, 9)], [250, 500, 1000, 8000])


class Sending(unittest.TestCase):
    def test_every_attempt_has_the_same_reference(self):
        bank = Bank("GW-5040", "GW-5003", "GW-2000")
        transfer, waits = send(bank)
        self.assertEqual(set(bank.references), {"STL-20260329-7021"})
        self.assertEqual(waits, [0.25, 0.5])
        self.assertEqual(transfer.transfer_id, "nbt_3")

    def test_a_permanent_code_is_raised_at_once(self):
        bank = Bank("GW-4001", "GW-2000")
        with self.assertRaisesRegex(GatewayError, "GW-4001"):
            send(bank)
        self.assertEqual(len(bank.references), 1)
