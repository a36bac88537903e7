"""Time in UTC, to the second."""

from datetime import datetime, timedelta, timezone


class SystemClock:
    def now(self):
        return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class StepClock:
    """For tests and demos: one second later at each question."""

    def __init__(self, start="2026-06-01T08:00:00"):
        self.moment = datetime.fromisoformat(start)

    def now(self):
        self.moment += timedelta(seconds=1)
        return self.moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def add_days(day, days):
    return (datetime.fromisoformat(day[:10]) + timedelta(days=days)).date().isoformat()
