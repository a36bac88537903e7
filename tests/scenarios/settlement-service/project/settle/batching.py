"""Which business day an order belongs to.

Orders up to the cut-off, local time, belong to that day, later ones to the next day. The offset is
computed here because the production image has no time zone database.
"""

from datetime import datetime, time, timedelta

WINTER = timedelta(hours=1)
SUMMER = timedelta(hours=2)


def last_sunday(year, month):
    """Return the date of the last Sunday of a month that has 31 days."""
    last = datetime(year, month, 31)
    return (last - timedelta(days=last.weekday() + 1)).date()


def berlin_offset(moment):
    """Return the offset of Europe/Berlin at a UTC moment (summer time starts at 01:00 UTC)."""
    start = datetime.combine(last_sunday(moment.year, 3), time(1))
    end = datetime.combine(last_sunday(moment.year, 10), time(1))
    return SUMMER if start.date() < moment.date() <= end.date() else WINTER


def business_day(moment, cutoff="17:00"):
    """Return the business day (ISO date) of a UTC moment."""
    local = moment + berlin_offset(moment)
    day = local.date()
    if local.time() > time.fromisoformat(cutoff):
        day += timedelta(days=1)
    return day.isoformat()


def in_batch(records, day, when, cutoff="17:00"):
    """Keep the records whose moment (by the function `when`) belongs to the business day."""
    return [record for record in records if business_day(when(record), cutoff) == day]
