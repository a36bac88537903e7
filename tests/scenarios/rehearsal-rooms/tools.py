"""The desk of a house with rehearsal rooms; its state is house.json in the scratch folder."""

import json
from pathlib import Path


class _Desk:
    def __init__(self, root):
        self.file = root / "house.json"
        self.data = json.loads(self.file.read_text("utf-8"))

    def save(self):
        self.file.write_text(json.dumps(self.data, indent=2), "utf-8")

    def overlapping(self, room, day, start, end, ignore=""):
        for booking_id, b in sorted(self.data["bookings"].items()):
            same = b["room"] == room and b["day"] == day and booking_id != ignore
            if same and b["start"] < end and start < b["end"]:
                raise ValueError(f"BKG-22 {room} is taken {b['start']}-{b['end']} ({booking_id})")

    def price(self, b):
        minutes = _minutes(b["end"]) - _minutes(b["start"])
        return self.data["rooms"][b["room"]]["cents_per_hour"] * minutes // 60

    def line(self, booking_id):
        b = self.data["bookings"][booking_id]
        return (
            f"{booking_id} {b['room']} {b['day']} {b['start']}-{b['end']} "
            f"{b['member']} {_euro(self.price(b))}"
        )


def _minutes(clock):
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def _euro(cents):
    return f"{cents // 100}.{cents % 100:02d} EUR"


def list_rooms(root: Path) -> str:
    """List the rooms with floor, price and equipment."""
    rooms = _Desk(root).data["rooms"]
    return "\n".join(
        f"{name}: floor {r['floor']}, {_euro(r['cents_per_hour'])} an hour, {r['equipment']}"
        for name, r in rooms.items()
    )


def bookings(root: Path, day: str = "", member: str = "") -> str:
    """List the bookings of a day or of a member."""
    desk = _Desk(root)
    found = [
        desk.line(booking_id)
        for booking_id, b in sorted(desk.data["bookings"].items())
        if day in ("", b["day"]) and member in ("", b["member"])
    ]
    return "\n".join(found) or "none"


def book(root: Path, room: str, day: str, start: str, end: str, member: str) -> str:
    """Book a room."""
    desk = _Desk(root)
    if member not in desk.data["members"]:
        raise ValueError(f"BKG-07 no member {member}")
    desk.overlapping(room, day, start, end)
    booking_id = f"K-{desk.data['next_booking']}"
    desk.data["next_booking"] += 9
    desk.data["bookings"][booking_id] = {
        "room": room,
        "day": day,
        "start": start,
        "end": end,
        "member": member,
    }
    desk.save()
    return f"booked {desk.line(booking_id)}, in the name of {desk.data['members'][member]}"


def change(root: Path, booking_id: str, start: str, end: str) -> str:
    """Move a booking to other hours of the same day."""
    desk = _Desk(root)
    booking = desk.data["bookings"][booking_id]
    desk.overlapping(booking["room"], booking["day"], start, end, booking_id)
    booking.update(start=start, end=end)
    desk.save()
    return f"changed {desk.line(booking_id)}"


def cancel(root: Path, booking_id: str) -> str:
    """Cancel a booking."""
    desk = _Desk(root)
    line = desk.line(booking_id)
    del desk.data["bookings"][booking_id]
    desk.save()
    return f"cancelled {line}"


def rule(root: Path, topic: str) -> str:
    """Look a house rule up by its topic, such as keys."""
    rules = _Desk(root).data["rules"]
    if topic not in rules:
        raise ValueError(f"no rule {topic}; there are {', '.join(rules)}")
    return rules[topic]


def statement(root: Path, member: str, month: str) -> str:
    """Write the statement of a member for a month such as 2026-06."""
    desk = _Desk(root)
    own = [
        (booking_id, desk.price(b))
        for booking_id, b in sorted(desk.data["bookings"].items())
        if b["member"] == member and b["day"].startswith(month)
    ]
    path = f"statements/{month}-{member}-r3.txt"
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text("\n".join(desk.line(i) for i, _ in own) + "\n", "utf-8")
    return f"{path}: {len(own)} bookings, {_euro(sum(price for _, price in own))}"
