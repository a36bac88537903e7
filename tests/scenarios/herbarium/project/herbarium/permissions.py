"""Rights of the roles."""

from herbarium.errors import HerbError

ROLES = {
    "visitor": frozenset({"read"}),
    "assistant": frozenset({"read", "edit", "note", "print"}),
    "curator": frozenset({"read", "edit", "note", "print", "lend", "remove", "taxa", "import"}),
}
USERS = {"mira": "curator", "jonas": "assistant", "tove": "curator", "guest": "visitor"}


def check(user, right):
    role = USERS.get(user, "visitor")
    if right not in ROLES[role]:
        raise HerbError("HB-403", f"{user} has not the right {right!r}")
