"""Errors with a code; see docs/errors.md."""

STATUS = {
    "HB-400": 400,
    "HB-403": 403,
    "HB-404": 404,
    "HB-409": 409,
}


class HerbError(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code} {text}")
        self.code = code
        self.text = text

    @property
    def status(self):
        return STATUS[self.code]
