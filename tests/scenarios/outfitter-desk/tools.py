"""The desk system of a shop for outdoor equipment: reads and changes `desk.db` in the folder.

Every public function is a tool. What the articles in `articles/` forbid, it refuses.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path

SECONDS_PER_CALL = 40
OPEN_STATES = ("paid", "backorder")
LIMIT_PER_CONTACT = 40000
CREDIT_NOTE_LIMIT = 25000
RETURN_DAYS = 60
NEXT_NUMBER = {
    "RF": 90411,
    "CN": 2207,
    "AP": 517,
    "TR": 70331,
    "RMA": 61204,
    "T": 55102,
    "O": 779302,
}


class RefusedError(Exception):
    """What the desk system does not do; the text says why."""


@contextmanager
def _desk(root: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(root / "desk.db")
    db.row_factory = sqlite3.Row
    try:
        with db:
            now = datetime.fromisoformat(_meta(db, "now")) + timedelta(seconds=SECONDS_PER_CALL)
            db.execute("UPDATE meta SET value = ? WHERE key = 'now'", (now.isoformat(" "),))
        with db:
            yield db
    finally:
        db.close()


def _meta(db: sqlite3.Connection, key: str) -> str:
    return str(db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0])


def _now(db: sqlite3.Connection) -> str:
    return _meta(db, "now")[:16]


def _one(db: sqlite3.Connection, table: str, key: str, value: str) -> sqlite3.Row:
    row = db.execute(f"SELECT * FROM {table} WHERE {key} = ?", (value,)).fetchone()
    if row is None:
        raise RefusedError(f"{value}: not found")
    return row


def _line(db: sqlite3.Connection, order_id: str, no: int) -> sqlite3.Row:
    row = db.execute("SELECT * FROM lines WHERE order_id = ? AND no = ?", (order_id, no)).fetchone()
    if row is None:
        raise RefusedError(f"{order_id} has no line {no}")
    return row


def _number(db: sqlite3.Connection, kind: str) -> str:
    used = int(db.execute("SELECT used FROM numbers WHERE kind = ?", (kind,)).fetchone()[0])
    db.execute("UPDATE numbers SET used = used + 1 WHERE kind = ?", (kind,))
    return f"{kind}-{NEXT_NUMBER[kind] + used * 3}"


def _role(db: sqlite3.Connection, customer_id: str) -> str:
    query = "SELECT role FROM verified WHERE customer_id = ? AND speaker = ?"
    row = db.execute(query, (customer_id, _meta(db, "speaker"))).fetchone()
    return row[0] if row else "none"


def _hear(db: sqlite3.Connection, customer_id: str) -> None:
    if _role(db, customer_id) == "none":
        raise RefusedError(f"refused: the speaker is not identified for {customer_id} (KB-104)")


def _change(db: sqlite3.Connection, customer_id: str) -> None:
    _hear(db, customer_id)
    if _role(db, customer_id) != "owner":
        role = _role(db, customer_id)
        raise RefusedError(f"refused: role {role!r} may not change {customer_id} (KB-104)")


def _order(db: sqlite3.Connection, order_id: str, *, change: bool) -> sqlite3.Row:
    order = _one(db, "orders", "order_id", order_id)
    (_change if change else _hear)(db, order["customer_id"])
    return order


def _ticket(db: sqlite3.Connection, ticket_id: str, order_id: str) -> sqlite3.Row:
    ticket = _one(db, "tickets", "ticket_id", ticket_id)
    if ticket["order_id"] != order_id:
        raise RefusedError(
            f"refused: {ticket_id} is about {ticket['order_id']}, not about {order_id}"
        )
    if ticket["state"] != "open":
        raise RefusedError(f"refused: {ticket_id} is {ticket['state']}")
    return ticket


def _refund_limit(db: sqlite3.Connection) -> tuple[int, str]:
    row = db.execute(
        "SELECT limit_cents, notice_id FROM notices WHERE limit_cents > 0 AND at <= ?"
        " ORDER BY at DESC",
        (_now(db),),
    ).fetchone()
    return (row[0], f"notice {row[1]}") if row else (15000, "KB-112")


def _table(rows: Sequence[sqlite3.Row], columns: str) -> str:
    names = columns.split()
    cells = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(names))]
    text = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in text) + f"\n({len(rows)} rows)"


def _record(row: sqlite3.Row, **more: object) -> str:
    return json.dumps({**dict(row), **more}, ensure_ascii=False, indent=1)


def find_customer(root: Path, text: str) -> str:
    """Find accounts by part of a name or e-mail address or by number; tells numbers and kinds."""
    with _desk(root) as db:
        like = f"%{text}%"
        query = "SELECT * FROM customers WHERE name LIKE ? OR email LIKE ? OR customer_id = ?"
        rows = db.execute(f"{query} ORDER BY customer_id", (like, like, text)).fetchall()
        return _table(rows, "customer_id name kind")


def start_contact(root: Path, speaker: str) -> str:
    """Begin a contact with a person, by full name. Earlier identifications are void."""
    with _desk(root) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'speaker'", (speaker,))
        db.execute("DELETE FROM verified")
        return f"{_now(db)} contact with {speaker}; nobody is identified yet"


def verify_identity(
    root: Path, customer_id: str, postcode: str, order_id: str, order_total_cents: int
) -> str:
    """Identify the speaker for one account: its postcode and the total of one of its orders."""
    with _desk(root) as db:
        customer, speaker = _one(db, "customers", "customer_id", customer_id), _meta(db, "speaker")
        roles = json.loads(customer["contacts"])
        order = db.execute("SELECT * FROM orders WHERE order_id = ?", (order_id,)).fetchone()
        right = (
            order is not None
            and order["customer_id"] == customer_id
            and order["total_cents"] == order_total_cents
        )
        if speaker not in roles or customer["postcode"] != postcode or not right:
            db.execute(
                "UPDATE customers SET failures = failures + 1 WHERE customer_id = ?", (customer_id,)
            )
            return f"not identified for {customer_id} (failure {customer['failures'] + 1} of 3)"
        db.execute("INSERT INTO verified VALUES (?, ?, ?)", (customer_id, speaker, roles[speaker]))
        return f"{speaker} is identified for {customer_id}, role {roles[speaker]}"


def get_customer(root: Path, customer_id: str) -> str:
    """Return an account: name, address, contacts with roles, tier, points."""
    with _desk(root) as db:
        _hear(db, customer_id)
        row = _one(db, "customers", "customer_id", customer_id)
        return _record(row, contacts=json.loads(row["contacts"]))


def list_orders(root: Path, customer_id: str, since: str = "2000-01-01", limit: int = 20) -> str:
    """List the orders of an account placed on or after a day, newest first."""
    with _desk(root) as db:
        _hear(db, customer_id)
        query = "SELECT * FROM orders WHERE customer_id = ? AND placed >= ?"
        newest = f"{query} ORDER BY placed DESC, order_id LIMIT ?"
        rows = db.execute(newest, (customer_id, since, limit)).fetchall()
        return _table(rows, "order_id placed state total_cents payment town memo")


def get_order(root: Path, order_id: str) -> str:
    """Return an order with its lines, address and shipments."""
    with _desk(root) as db:
        order = _order(db, order_id, change=False)
        lines = db.execute(
            "SELECT * FROM lines WHERE order_id = ? ORDER BY no", (order_id,)
        ).fetchall()
        return (
            _record(order)
            + "\n"
            + _table(lines, "no sku title qty unit_cents state shipment_id delivered")
        )


def get_shipment(root: Path, shipment_id: str) -> str:
    """Return a shipment with all scans of the carrier, oldest first."""
    with _desk(root) as db:
        shipment = _one(db, "shipments", "shipment_id", shipment_id)
        _order(db, shipment["order_id"], change=False)
        query = "SELECT * FROM events WHERE shipment_id = ? ORDER BY at, place"
        scans = _table(db.execute(query, (shipment_id,)).fetchall(), "at place scan")
        seen = {key: value for key, value in dict(shipment).items() if key != "trace_answer"}
        return json.dumps(seen, indent=1) + "\n" + scans


def list_payments(root: Path, order_id: str) -> str:
    """List the payments of an order with their states (authorised, captured, expired)."""
    with _desk(root) as db:
        _order(db, order_id, change=False)
        query = "SELECT * FROM payments WHERE order_id = ? ORDER BY payment_id"
        return _table(
            db.execute(query, (order_id,)).fetchall(), "payment_id at state amount_cents card"
        )


def list_movements(root: Path, customer_id: str) -> str:
    """List refunds and credit notes of an account, oldest first."""
    with _desk(root) as db:
        _hear(db, customer_id)
        query = "SELECT * FROM movements WHERE customer_id = ? ORDER BY at, movement_id"
        rows = db.execute(query, (customer_id,)).fetchall()
        return _table(rows, "movement_id at order_id amount_cents method code ticket_id")


def get_return(root: Path, rma: str) -> str:
    """Return a return: line, quantity, dates, grade of the warehouse."""
    with _desk(root) as db:
        row = _one(db, "returns", "rma", rma)
        _order(db, row["order_id"], change=False)
        return _record(row)


def list_returns(root: Path, customer_id: str) -> str:
    """List the returns of an account."""
    with _desk(root) as db:
        _hear(db, customer_id)
        query = (
            "SELECT r.* FROM returns r JOIN orders o USING (order_id)"
            " WHERE o.customer_id = ? ORDER BY rma"
        )
        return _table(
            db.execute(query, (customer_id,)).fetchall(),
            "rma order_id line qty reason state grade received",
        )


def find_products(root: Path, text: str) -> str:
    """Find articles of the shop by part of title or SKU, with price, stock and price changes."""
    with _desk(root) as db:
        like = f"%{text}%"
        rows = db.execute(
            "SELECT * FROM products WHERE title LIKE ? OR sku LIKE ? ORDER BY sku", (like, like)
        ).fetchall()
        return _table(rows, "sku title price_cents stock price_note")


def search_articles(root: Path, words: str) -> str:
    """Search the policy articles; answers each line that has one of the words."""
    wanted = re.compile("|".join(map(re.escape, words.split())), re.IGNORECASE)
    found = [
        f"{file.stem}: {line}"
        for file in sorted((root / "articles").glob("KB-*.md"))
        for line in file.read_text("utf-8").splitlines()
        if wanted.search(line)
    ]
    return "\n".join(found[:40]) or "nothing found"


def read_article(root: Path, article_id: str) -> str:
    """Return the text of a policy article, for example KB-104."""
    path = root / "articles" / f"{article_id}.md"
    if not re.fullmatch(r"KB-\d+", article_id) or not path.is_file():
        raise RefusedError(f"{article_id}: no such article")
    return path.read_text("utf-8")


def read_board(root: Path) -> str:
    """Return the notices of the desk lead that are valid now, oldest first."""
    with _desk(root) as db:
        rows = db.execute("SELECT * FROM notices WHERE at <= ? ORDER BY at", (_now(db),)).fetchall()
        return (
            "\n\n".join(f"{row['notice_id']} ({row['at']}) {row['text']}" for row in rows)
            or "no notices"
        )


def change_address(root: Path, order_id: str, street: str, postcode: str, town: str) -> str:
    """Change the address that an order is sent to."""
    with _desk(root) as db:
        order = _order(db, order_id, change=True)
        if order["state"] not in (*OPEN_STATES, "packing"):
            raise RefusedError(
                f"refused: {order_id} is {order['state']}; its address is final (KB-133)"
            )
        if order["address_changes"] >= 2:
            raise RefusedError(
                f"refused: {order_id} had two changes of address; a third needs queue lead (KB-133)"
            )
        db.execute(
            "UPDATE orders SET street = ?, postcode = ?, town = ?,"
            " address_changes = address_changes + 1 WHERE order_id = ?",
            (street, postcode, town, order_id),
        )
        address = f"{order['ship_name']}, {street}, {postcode} {town}"
        return f"{order_id} goes to {address} (change {order['address_changes'] + 1} of 2)"


def cancel_line(root: Path, order_id: str, line: int, new_quantity: int = 0) -> str:
    """Cancel a line of an order, or lower its quantity. What was paid goes back on its own."""
    with _desk(root) as db:
        order, row = _order(db, order_id, change=True), _line(db, order_id, line)
        if order["state"] not in OPEN_STATES:
            raise RefusedError(
                f"refused: {order_id} is {order['state']}; no line can be cancelled (KB-133)"
            )
        if not 0 <= new_quantity < row["qty"]:
            raise RefusedError(f"refused: the quantity can only go down from {row['qty']} (KB-133)")
        state = row["state"] if new_quantity else "cancelled"
        db.execute(
            "UPDATE lines SET qty = ?, state = ? WHERE order_id = ? AND no = ?",
            (new_quantity, state, order_id, line),
        )
        left = db.execute(
            "SELECT COUNT(*) FROM lines WHERE order_id = ? AND qty > 0", (order_id,)
        ).fetchone()[0]
        if not left:
            db.execute("UPDATE orders SET state = 'cancelled' WHERE order_id = ?", (order_id,))
        freed = (row["qty"] - new_quantity) * row["unit_cents"]
        change = f"{row['qty']} -> {new_quantity}, {freed} cents freed"
        return f"{order_id} line {line}: {change}; lines left: {left}"


def create_return(root: Path, order_id: str, line: int, quantity: int, reason: str) -> str:
    """Register a return and send the label by e-mail."""
    with _desk(root) as db:
        order, row = _order(db, order_id, change=True), _line(db, order_id, line)
        if row["sku"].startswith("EMB-400"):
            raise RefusedError(
                "refused: lamps with lithium cells under KB-311 do not go by normal post"
            )
        if not row["delivered"] or not 0 < quantity <= row["qty"]:
            raise RefusedError(
                f"refused: {order_id} line {line} has {row['qty']} pieces,"
                f" delivered {row['delivered'] or 'never'}"
            )
        last = date.fromisoformat(row["delivered"]) + timedelta(days=RETURN_DAYS)
        if "11-01" <= order["placed"][5:10] <= "12-24":
            last = max(last, date(int(order["placed"][:4]) + 1, 1, 31))
        if _now(db)[:10] > last.isoformat():
            raise RefusedError(
                f"refused: the window for {order_id} line {line} closed on {last} (KB-118)"
            )
        rma = _number(db, "RMA")
        db.execute(
            "INSERT INTO returns VALUES (?, ?, ?, ?, ?, 'announced', '', ?, '')",
            (rma, order_id, line, quantity, reason, _now(db)),
        )
        return (
            f"{rma} registered, open until {last}; label sent to the e-mail address of the account"
        )


def open_trace(root: Path, shipment_id: str, ticket_id: str) -> str:
    """Ask the carrier where a silent parcel is."""
    with _desk(root) as db:
        shipment = _one(db, "shipments", "shipment_id", shipment_id)
        order = _order(db, shipment["order_id"], change=True)
        _ticket(db, ticket_id, order["order_id"])
        last = db.execute(
            "SELECT MAX(at) FROM events WHERE shipment_id = ?", (shipment_id,)
        ).fetchone()[0]
        silent = (datetime.fromisoformat(_now(db)) - datetime.fromisoformat(last)).days
        if silent < 7:
            raise RefusedError(
                f"refused: last scan {last}, {silent} days ago; a trace needs 7 (KB-121)"
            )
        trace = _number(db, "TR")
        db.execute("INSERT INTO traces VALUES (?, ?, ?)", (trace, shipment_id, _now(db)))
        return f"{trace} opened at {_now(db)}; last scan {last}, silent for {silent} days"


def check_trace(root: Path, trace_id: str) -> str:
    """Return the carrier's answer to a trace, or that there is none yet."""
    with _desk(root) as db:
        trace = _one(db, "traces", "trace_id", trace_id)
        shipment = _one(db, "shipments", "shipment_id", trace["shipment_id"])
        _order(db, shipment["order_id"], change=False)
        waited = datetime.fromisoformat(_now(db)) - datetime.fromisoformat(trace["opened_at"])
        if waited < timedelta(minutes=8):
            return f"{trace_id}: no answer yet (opened {trace['opened_at']}, now {_now(db)})"
        return f"{trace_id}: {shipment['trace_answer']}"


def send_replacement(
    root: Path, order_id: str, line: int, sku: str, quantity: int, ticket_id: str
) -> str:
    """Send an article free of charge for a line of an order: from stock, as an order of 0.00."""
    with _desk(root) as db:
        order = _order(db, order_id, change=True)
        _line(db, order_id, line)
        _ticket(db, ticket_id, order_id)
        product = _one(db, "products", "sku", sku)
        if product["stock"] < quantity:
            raise RefusedError(f"refused: {sku} has {product['stock']} in stock, {quantity} wanted")
        number = _number(db, "O")
        db.execute("UPDATE products SET stock = stock - ? WHERE sku = ?", (quantity, sku))
        address = (order["ship_name"], order["street"], order["postcode"], order["town"])
        db.execute(
            "INSERT INTO orders VALUES (?, ?, ?, 'packing', 0, 0, 'none', '', ?, ?, ?, ?, 0, ?)",
            (
                number,
                order["customer_id"],
                _now(db),
                *address,
                f"replacement for {order_id} line {line}, {ticket_id}",
            ),
        )
        db.execute(
            "INSERT INTO lines VALUES (?, 1, ?, ?, ?, 0, 'packing', '', '')",
            (number, sku, product["title"], quantity),
        )
        return f"{number}: {quantity} x {sku} for {order_id} line {line}, to {', '.join(address)}"


def request_approval(
    root: Path, order_id: str, amount_cents: int, ticket_id: str, reason: str
) -> str:
    """Ask a desk lead to approve a refund or credit note above a limit."""
    with _desk(root) as db:
        _order(db, order_id, change=True)
        _ticket(db, ticket_id, order_id)
        number = _number(db, "AP")
        db.execute(
            "INSERT INTO approvals VALUES (?, ?, ?, ?, ?, 0)",
            (number, order_id, amount_cents, reason, _now(db)),
        )
        return f"{number}: {amount_cents} cents for {order_id}, waiting for a desk lead"


def check_approval(root: Path, approval_id: str) -> str:
    """Return whether an approval was decided, and its maximum."""
    with _desk(root) as db:
        row = _one(db, "approvals", "approval_id", approval_id)
        _order(db, row["order_id"], change=False)
        return f"{approval_id}: {_decision(db, row)}"


def _decision(db: sqlite3.Connection, row: sqlite3.Row) -> str:
    waited = datetime.fromisoformat(_now(db)) - datetime.fromisoformat(row["asked_at"])
    if waited < timedelta(minutes=4):
        return "waiting"
    return (
        f"approved, at most {min(row['amount_cents'], _approvable(db, row['order_id']))} cents"
        + (", used" if row["used"] else "")
    )


def _approvable(db: sqlite3.Connection, order_id: str) -> int:
    row = db.execute("SELECT max_cents FROM lead_limits WHERE order_id = ?", (order_id,)).fetchone()
    return row[0] if row else 10000


def issue_refund(
    root: Path,
    order_id: str,
    amount_cents: int,
    method: str,
    code: str,
    ticket_id: str,
    approval_id: str = "",
) -> str:
    """Refund money for an order of a private account. Methods: original, store_credit."""
    with _desk(root) as db:
        order = _order(db, order_id, change=True)
        _ticket(db, ticket_id, order_id)
        customer = _one(db, "customers", "customer_id", order["customer_id"])
        if customer["kind"] == "business":
            raise RefusedError("refused: business accounts get credit notes, not refunds (KB-146)")
        if method not in ("original", "store_credit") or (code == "RC-30" and method != "original"):
            raise RefusedError(f"refused: method {method!r} with {code} (KB-112, KB-140)")
        captured = _sum(db, "payments", "order_id = ? AND state = 'captured'", order_id)
        left = captured - _sum(db, "movements", "order_id = ?", order_id)
        if amount_cents > left:
            raise RefusedError(f"refused: {left} cents of {order_id} can be refunded at most")
        _within_limits(db, order_id, amount_cents, approval_id)
        return _move(
            db,
            "RF",
            order,
            amount_cents,
            f"{method}{'+' + approval_id if approval_id else ''}",
            code,
            ticket_id,
        )


def _within_limits(
    db: sqlite3.Connection, order_id: str, amount_cents: int, approval_id: str
) -> None:
    if approval_id:
        row = _one(db, "approvals", "approval_id", approval_id)
        top = _approvable(db, order_id) if _decision(db, row).startswith("approved") else 0
        if (
            row["order_id"] != order_id
            or row["used"]
            or amount_cents > min(top, row["amount_cents"])
        ):
            raise RefusedError(
                f"refused: {approval_id} is {_decision(db, row)}, for {row['order_id']}"
            )
        db.execute("UPDATE approvals SET used = 1 WHERE approval_id = ?", (approval_id,))
        return
    limit, source = _refund_limit(db)
    if (
        amount_cents + _sum(db, "movements", "order_id = ? AND at >= '2026-05-12'", order_id)
        > limit
    ):
        raise RefusedError(
            f"refused: {amount_cents} cents are above the limit of {limit} per order ({source})"
        )
    today = _sum(
        db, "movements", "kind = ? AND at >= '2026-05-12' AND method NOT LIKE '%+AP%'", "RF"
    )
    if today + amount_cents > LIMIT_PER_CONTACT:
        raise RefusedError(
            f"refused: {today} cents were refunded in this contact,"
            f" the limit is {LIMIT_PER_CONTACT} (KB-112)"
        )


def _sum(db: sqlite3.Connection, table: str, where: str, value: str) -> int:
    return int(
        db.execute(
            f"SELECT COALESCE(SUM(amount_cents), 0) FROM {table} WHERE {where}", (value,)
        ).fetchone()[0]
    )


def _move(
    db: sqlite3.Connection,
    kind: str,
    order: sqlite3.Row,
    amount: int,
    method: str,
    code: str,
    ticket_id: str,
) -> str:
    number = _number(db, kind)
    values = (
        number,
        kind,
        order["customer_id"],
        order["order_id"],
        amount,
        method,
        code,
        ticket_id,
        _now(db),
    )
    db.execute("INSERT INTO movements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    why = f"{method}, {code}, {ticket_id}, {_now(db)}"
    return f"{number}: {amount} cents for {order['order_id']}, {why}"


def issue_credit_note(
    root: Path, order_id: str, amount_cents: int, ticket_id: str, reason: str
) -> str:
    """Credit money on the invoice of an order of a business account."""
    with _desk(root) as db:
        order = _order(db, order_id, change=True)
        _ticket(db, ticket_id, order_id)
        if order["payment"] != "invoice" or amount_cents > min(
            CREDIT_NOTE_LIMIT, order["total_cents"]
        ):
            raise RefusedError(
                f"refused: credit notes: invoices only, up to {CREDIT_NOTE_LIMIT} cents (KB-146)"
            )
        if _sum(db, "movements", "order_id = ? AND kind = 'CN' AND at >= '2026-05-12'", order_id):
            raise RefusedError(f"refused: {order_id} has a credit note in this contact (KB-146)")
        return _move(db, "CN", order, amount_cents, "invoice", reason, ticket_id)


def give_points(root: Path, customer_id: str, points: int, reason: str) -> str:
    """Give points for trouble that we caused."""
    with _desk(root) as db:
        _change(db, customer_id)
        customer = _one(db, "customers", "customer_id", customer_id)
        if customer["kind"] == "business" or not 0 < points <= 500 - customer["points_given"]:
            raise RefusedError(
                "refused: at most 500 points per contact, private accounts only (KB-171)"
            )
        db.execute(
            "UPDATE customers SET points = points + ?, points_given = points_given + ?"
            " WHERE customer_id = ?",
            (points, points, customer_id),
        )
        before = customer["points"]
        return f"{customer_id}: {before} -> {before + points} points ({reason})"


def open_ticket(root: Path, customer_id: str, queue: str, order_id: str, subject: str) -> str:
    """Open a ticket. Queues: desk, lead, workshop, accounting, fraud, warehouse."""
    with _desk(root) as db:
        order = _order(db, order_id, change=True)
        if order["customer_id"] != customer_id or queue not in (
            "desk",
            "lead",
            "workshop",
            "accounting",
            "fraud",
            "warehouse",
        ):
            raise RefusedError(
                f"refused: {order_id} belongs to {order['customer_id']}, queue {queue!r}"
            )
        number = _number(db, "T")
        values = (number, customer_id, queue, order_id, subject, f"{_now(db)} opened")
        db.execute("INSERT INTO tickets VALUES (?, ?, ?, ?, 'open', ?, ?)", values)
        return f"{number} in queue {queue} for {order_id}"


def update_ticket(root: Path, ticket_id: str, text: str, close: bool = False) -> str:
    """Add a text to a ticket; close it if it is one of queue desk and done."""
    with _desk(root) as db:
        ticket = _one(db, "tickets", "ticket_id", ticket_id)
        _change(db, ticket["customer_id"])
        if close and ticket["queue"] != "desk":
            raise RefusedError(f"refused: {ticket_id} belongs to queue {ticket['queue']} (KB-152)")
        state = "closed" if close else ticket["state"]
        log = f"{ticket['log']}\n{_now(db)} {text}"
        db.execute(
            "UPDATE tickets SET state = ?, log = ? WHERE ticket_id = ?", (state, log, ticket_id)
        )
        return f"{ticket_id} is {state}"


def list_tickets(root: Path, customer_id: str, state: str = "") -> str:
    """List the tickets of an account, oldest first."""
    with _desk(root) as db:
        _hear(db, customer_id)
        query = "SELECT * FROM tickets WHERE customer_id = ? AND state LIKE ? ORDER BY ticket_id"
        rows = db.execute(query, (customer_id, state or "%")).fetchall()
        return _table(rows, "ticket_id queue order_id state subject")


def list_notes(root: Path, customer_id: str) -> str:
    """List the notes of an account, oldest first."""
    with _desk(root) as db:
        _hear(db, customer_id)
        rows = db.execute(
            "SELECT * FROM notes WHERE customer_id = ? ORDER BY at, rowid", (customer_id,)
        ).fetchall()
        return (
            "\n".join(f"{row['at']} {row['author']}: {row['text']}" for row in rows) or "no notes"
        )


def add_note(root: Path, customer_id: str, text: str) -> str:
    """Add the note of this contact to an account (KB-152)."""
    with _desk(root) as db:
        _hear(db, customer_id)
        if len(text) > 900:
            raise RefusedError(f"refused: {len(text)} characters, at most 900 (KB-152)")
        others = set(re.findall(r"\bC-\d{5}\b", text)) - {customer_id}
        if others:
            raise RefusedError(
                f"refused: the note names another account: {', '.join(sorted(others))} (KB-152)"
            )
        db.execute("INSERT INTO notes VALUES (?, ?, 'desk', ?)", (customer_id, _now(db), text))
        return f"note saved at {_now(db)} ({len(text)} characters)"
