"""Write the day's data and logs into the current folder (a copy of `project/`), seeded.

The bank statement and the logs are what the project's own faulty code would have produced.
"""

import csv
import random
import sys
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path.cwd()))

DAY = "2026-03-29"
RUN = "stl-20260329-7f3a91"
WEIGHTS = {
    "prt_8842": 26,
    "prt_1907": 14,
    "prt_5510": 17,
    "prt_3306": 8,
    "prt_7021": 12,
    "prt_6178": 9,
    "prt_2254": 4,
    "prt_9093": 3,
    "prt_4415": 6,
    "prt_0631": 0,
}
SMALL = "prt_0631"
REASONS = ("damaged", "late", "wrong item", "goodwill", "partial return")
RATES = {
    "GBP": ("0.85120", 0.0011),
    "JPY": ("171.42", 0.35),
    "NOK": ("11.3870", 0.021),
    "HUF": ("391.15", 0.9),
}


def write_rows(path, header, rows):
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def rates(rng):
    rows = []
    for offset in range(21):
        day = (datetime(2026, 3, 9) + timedelta(days=offset)).date().isoformat()
        for currency, (start, step) in RATES.items():
            if currency == "HUF" and day > "2026-03-26":
                continue
            value = Decimal(start) + Decimal(str(round(rng.uniform(-4, 4) * step, 5)))
            rows.append((day, currency, f"{value:.5f}"))
    write_rows("data/fx_rates.csv", ("date", "currency", "rate"), rows)


def orders(rng):
    moments = sorted(rng.randint(0, 26 * 3600 - 1) for _ in range(640))
    names, weights = list(WEIGHTS), list(WEIGHTS.values())
    rows = []
    for number, seconds in enumerate(moments, 1):
        partner = rng.choices(names, weights)[0]
        if number in (211, 388):
            partner = SMALL
        placed = datetime(2026, 3, 28, 16) + timedelta(seconds=seconds)
        amount = rng.randint(120, 5200) * 4 if partner != SMALL else 1900 + number
        currency = "GBP" if partner == "prt_5510" and rng.random() < 0.3 else "EUR"
        rows.append((f"ord_{number:05d}", partner, placed.isoformat(), amount, currency))
    header = ("order_id", "partner_id", "placed_at", "amount_minor", "currency")
    write_rows(f"data/orders_{DAY}.csv", header, rows)
    return rows


def refunds(rng, placed):
    rows = []
    for number, order in enumerate(rng.sample(placed[:420], 46)):
        if order[1] == SMALL:
            continue
        parts = 2 if number % 5 == 0 else 1
        for seq in range(1, parts + 1):
            moment = datetime(2026, 3, 29, 6) + timedelta(seconds=rng.randint(0, 8 * 3600))
            amount = order[3] // (3 if parts == 2 else rng.choice((1, 2, 4)))
            reason = rng.choice(REASONS)
            rows.append((order[0], seq, moment.isoformat(), amount, order[4], reason))
    for order_id in ("ord_97114", "ord_97230", "ord_98002"):
        moment = datetime(2026, 3, 29, 9) + timedelta(seconds=rng.randint(0, 3600))
        rows.append((order_id, 1, moment.isoformat(), 1290, "EUR", "late"))
    rows.sort(key=lambda row: (row[2], row[0]))
    header = ("order_id", "refund_seq", "refunded_at", "amount_minor", "currency", "reason")
    write_rows(f"data/refunds_{DAY}.csv", header, rows)


def golden_fees(rng):
    tiers = ((0, 1250, 30), (500000, 975, 25), (2500000, 790, 15))
    rows = []
    for number in range(1, 151):
        floor, rate, fixed = tiers[number % 3]
        tie = {1250: 8 * rng.randint(20, 900) + 4, 975: 400 * rng.randint(1, 90) + 200}.get(
            rate, 1000 * rng.randint(1, 45) + 500
        )
        amount = tie if number % 4 else tie + rng.randint(1, 3)
        volume = floor if number % 10 == 0 else floor + rng.randint(1, 300000)
        fee = (Decimal(amount) * rate / 10000 + fixed).quantize(Decimal(1), ROUND_HALF_EVEN)
        rows.append((f"{number:03d}", amount, volume, min(int(fee), 4900)))
    write_rows("tests/golden/fees.csv", ("case", "amount_minor", "volume_minor", "fee_minor"), rows)


def statement_and_gateway_log(run, config, rng):
    booked, lines = [], []
    clock = datetime(2026, 3, 29, 19, 41, 7)
    troubles = {
        "prt_8842": ["GW-4127"],
        "prt_7021": ["GW-5040"],
        "prt_6178": ["GW-5003", "GW-5003"],
        "prt_1907": ["GW-4290"],
    }
    for payout in run.payouts:
        if payout.status != "ready":
            continue
        partner = config.partners[payout.partner_id]
        for attempt, code in enumerate([*troubles.get(partner.id, []), "GW-2000"], 1):
            reference = payout.reference if attempt == 1 else f"{payout.reference}-{attempt}"
            trace = f"{rng.getrandbits(64):016x}"
            transfer = f"nbt_{rng.getrandbits(40):010x}"
            head = f"profile=eu-batch-2 trace={trace}"
            lines += gateway_lines(clock, head, reference, payout, code, transfer, rng)
            if code in ("GW-2000", "GW-5040", "GW-4127"):
                booked.append(
                    (reference, payout.amount_minor, payout.currency, "2026-03-30", transfer)
                )
            clock += timedelta(seconds=rng.randint(2, 9), milliseconds=rng.randint(0, 999))
    header = ("reference", "amount_minor", "currency", "booked_at", "transfer_id")
    write_rows("data/bank_statement_2026-03-30.csv", header, booked)
    Path("logs").mkdir(exist_ok=True)
    Path(f"logs/gateway-{DAY}.log").write_text("\n".join(lines) + "\n", "utf-8")


def gateway_lines(clock, head, reference, payout, code, transfer, rng):
    stamp = clock.isoformat(timespec="milliseconds") + "Z"
    texts = {
        "GW-2000": f"accepted transfer_id={transfer}",
        "GW-4127": "duplicate reference: a transfer with this reference exists "
        f"(transfer_id={transfer}, source=manual-rerun by ops at 19:22Z)",
        "GW-5040": "upstream timeout after 8000 ms, outcome unknown",
        "GW-5003": "bank unavailable (maintenance window NB-2026-13)",
        "GW-4290": "rate limited, retry_after_ms=1500",
    }
    level = "INFO " if code == "GW-2000" else "WARN "
    body = f"amount={payout.amount_minor} currency={payout.currency}"
    lines = [
        f"{stamp} DEBUG gateway.pool {head} connection checked out slot={rng.randint(1, 8)}",
        f"{stamp} INFO  gateway.send {head} POST https://gateway.northbank.example/v2/transfers "
        f"reference={reference} {body}",
        f"{stamp} {level} gateway.send {head} code={code} {texts[code]}",
    ]
    noise = ("tls session resumed", "keep-alive ping ok", "token valid for 1740 s", "dns cached")
    lines += [
        f"{stamp} DEBUG gateway.pool {head} {rng.choice(noise)} seq={rng.randint(1000, 9999)}"
        for _ in range(9)
    ]
    return lines


def settlement_log(run, config, rng):
    clock = datetime(2026, 3, 29, 19, 30, 0)
    lines = [
        f"{clock.isoformat()}.000Z INFO  settle.run run={RUN} start day={DAY} "
        "image=settle:2026.13.2",
        f"{clock.isoformat()}.004Z INFO  settle.run run={RUN} config config/settlement.toml "
        "sha=9c41e07d min_payout_minor=1000(default) rounding=half_up(default)",
        f"{clock.isoformat()}.006Z WARN  settle.batching run={RUN} no tz database, computed offset "
        "Europe/Berlin=+01:00 cutoff=17:00 (16:00Z)",
    ]
    hits = {}
    for refund in run.refunds:
        hits.setdefault(refund.order_id, []).append(refund)
    for entry in run.ledger.entries:
        clock += timedelta(milliseconds=rng.randint(90, 400))
        stamp = clock.isoformat(timespec="milliseconds") + "Z"
        lines.append(
            f"{stamp} INFO  settle.ledger run={RUN} posted key={entry.key} debit={entry.debit} "
            f"credit={entry.credit} amount={entry.amount_minor} {entry.currency}"
        )
        if entry.key.startswith("order:") and rng.random() < 0.5:
            lines.append(
                f"{stamp} DEBUG settle.fx run={RUN} rate day={DAY} used={'2026-03-28'} "
                f"currency={entry.currency} span={rng.getrandbits(32):08x}"
            )
        order_id = entry.key.split(":")[1]
        if entry.key.startswith("feeback:") and len(hits.get(order_id, ())) > 1:
            for refund in hits[order_id][1:]:
                lines.append(
                    f"{stamp} WARN  settle.ledger run={RUN} idempotency hit "
                    f"key=refund:{order_id} amount={refund.amount_minor} seq={refund.refund_seq}"
                )
    for refund in run.skipped:
        lines.append(
            f"{stamp} DEBUG settle.pipeline run={RUN} refund skipped order={refund.order_id} "
            "reason=order-not-in-file"
        )
    lines += payout_lines(run, config, clock)
    Path(f"logs/settlement-{DAY}.log").write_text("\n".join(lines) + "\n", "utf-8")


def payout_lines(run, config, clock):
    stamp = (clock + timedelta(seconds=2)).isoformat(timespec="milliseconds") + "Z"
    lines = [
        f"{stamp} INFO  settle.payouts run={RUN} partner={p.partner_id} reference={p.reference} "
        f"amount={p.amount_minor} {p.currency} status={p.status} note={p.note or '-'}"
        for p in run.payouts
    ]
    return [
        *lines,
        f"{stamp} ERROR settle.export run={RUN} EXP-3107 bank rejected file checksum "
        "(file NBK-20260329-01), fell back to single transfers",
        f"{stamp} INFO  settle.run run={RUN} end status=completed-with-fallback",
    ]


def main():
    from settle.config import load_config
    from settle.pipeline import run_day

    rng = random.Random(20260329)
    rates(rng)
    refunds(rng, orders(rng))
    golden_fees(rng)
    config = load_config(Path.cwd())
    run = run_day(DAY, Path.cwd(), config)
    statement_and_gateway_log(run, config, rng)
    settlement_log(run, config, rng)


main()
