"""Client of the Northbank gateway. Owned by Payments Platform: do not change here."""

import json
import logging
from dataclasses import dataclass

log = logging.getLogger("settle.gateway")


class GatewayError(Exception):
    """The gateway answered with a code other than GW-2000."""

    def __init__(self, code, text=""):
        super().__init__(f"{code} {text}".strip())
        self.code = code


@dataclass
class Transfer:
    reference: str
    amount_minor: int
    currency: str
    transfer_id: str


class Gateway:
    """Sends transfers through a `transport` callable: (url, body) -> dict."""

    def __init__(self, transport, url, profile):
        self._transport = transport
        self.url = url
        self.profile = profile

    def send(self, reference, iban, amount_minor, currency):
        """Send one transfer. Raises GatewayError for every code but GW-2000."""
        body = {
            "profile": self.profile,
            "reference": reference,
            "iban": iban,
            "amount": amount_minor,
            "currency": currency,
        }
        answer = self._transport(self.url, json.dumps(body, sort_keys=True))
        log.info("transfer reference=%s code=%s", reference, answer["code"])
        if answer["code"] != "GW-2000":
            raise GatewayError(answer["code"], answer.get("text", ""))
        return Transfer(reference, amount_minor, currency, answer["transfer_id"])

    def fetch(self, reference):
        """Return the transfer that the bank has under a reference, or None."""
        answer = self._transport(f"{self.url}/{reference}", "")
        if answer["code"] != "GW-2000":
            return None
        return Transfer(reference, answer["amount"], answer["currency"], answer["transfer_id"])
