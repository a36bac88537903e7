"""The virtual clock: seconds since 22:00:00Z of the evening of a night."""

from datetime import datetime, timedelta


class VirtualClock:
    def __init__(self, night, now=0):
        self.start = datetime.fromisoformat(f"{night}T22:00:00")
        self.now = now

    def stamp(self, offset=0):
        moment = self.start + timedelta(seconds=self.now + offset)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
