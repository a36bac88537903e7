"""Write a week of raw sensor values, meter readings and alarms into the current folder, seeded.

Raw values are integers (microampere or pulses in ten minutes); no sine, no Gauss, so that every
machine gets the same bytes. The faults of the story are built in here.
"""

import csv
import random
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2026, 10, 31)
END = datetime(2026, 11, 6, 14, 50)
STEP = timedelta(minutes=10)
REPLACED = datetime(2026, 11, 3, 10, 40)
REWIRED = datetime(2026, 11, 4, 14, 30)
FROZEN = datetime(2026, 11, 5, 2, 10)
SUPPLY = (
    88,
    87,
    87,
    88,
    90,
    94,
    97,
    97,
    95,
    93,
    92,
    91,
    91,
    91,
    91,
    92,
    93,
    95,
    96,
    95,
    94,
    92,
    90,
    89,
)
FLOW = (
    62,
    60,
    60,
    62,
    70,
    88,
    99,
    98,
    92,
    86,
    82,
    80,
    80,
    79,
    79,
    82,
    88,
    95,
    97,
    94,
    88,
    80,
    72,
    66,
)
OUTDOOR = (4, 3, 3, 3, 2, 2, 3, 4, 5, 7, 8, 9, 10, 10, 10, 9, 8, 7, 6, 6, 5, 5, 4, 4)
WH_PER_LITRE_KELVIN = 1.128
LOSS = {1: 0.0188, 2: 0.0169}
LITRES_PER_PULSE = {1: 4.902, 2: 4.863}


def hourly(table, moment):
    """Interpolate a table of 24 values."""
    here, after = table[moment.hour], table[(moment.hour + 1) % 24]
    return here + (after - here) * moment.minute / 60


def microampere(value, low, high):
    return max(4000, min(20000, round(4000 + 16000 * (value - low) / (high - low))))


def moments():
    moment = START
    while moment <= END:
        yield moment
        moment += STEP


def temperatures(rng, moment, circuit):
    noise = rng.uniform(-0.4, 0.4)
    supply = hourly(SUPPLY, moment) + (0.6 if circuit == 2 else 0) + noise
    back = 49.5 + (hourly(FLOW, moment) - 80) * 0.05 + circuit * 0.7 + rng.uniform(-0.3, 0.3)
    return supply, back


def circuit_rows(rng, series, kwh):
    for moment in moments():
        for circuit, pulses_at_full in ((1, 84.0), (2, 61.5)):
            supply, back = temperatures(rng, moment, circuit)
            pulses = round(hourly(FLOW, moment) * pulses_at_full + rng.uniform(-25, 25))
            span = 160 if circuit == 2 and moment >= REPLACED else 150
            tags = (
                ("FT-311", "TT-205", "TT-206") if circuit == 1 else ("FT-312", "TT-207", "TT-208")
            )
            row = (pulses, microampere(supply, 0, span), microampere(back, 0, 150))
            for tag, raw in zip(tags, row, strict=True):
                series[tag].append((moment, raw))
            litres = pulses * LITRES_PER_PULSE[circuit]
            day = (moment.date().isoformat(), circuit)
            kwh[day] = kwh.get(day, 0) + litres * (supply - back) * WH_PER_LITRE_KELVIN / 1000


def pump_rows(rng, series):
    for number, moment in enumerate(moments()):
        load = hourly(FLOW, moment)
        suction, discharge = 2.3 + rng.uniform(-0.06, 0.06), 4.1 + load * 0.0125
        discharge += rng.uniform(-0.07, 0.07)
        if moment >= REWIRED:
            suction, discharge = discharge, suction
        wear = max(0, number - 300) / 654
        values = {
            "PT-118": (suction, 0, 10),
            "PT-119": (discharge, 0, 10),
            "VT-08": (1.7 + rng.uniform(-0.2, 0.2), 0, 20),
            "VT-09": (2.6 + 3.9 * wear * wear + rng.uniform(-0.25, 0.25), 0, 20),
            "TT-140": (41 + load * 0.03 + rng.uniform(-0.4, 0.4), 0, 120),
            "TT-141": (44 + load * 0.03 + 13 * wear * wear + rng.uniform(-0.4, 0.4), 0, 120),
            "ST-14": (min(100, load * 0.9 + 6), 0, 100),
            "TT-001": (hourly(OUTDOOR, moment) + rng.uniform(-0.3, 0.3), -30, 50),
        }
        for tag, (value, low, high) in values.items():
            series[tag].append((moment, microampere(value, low, high)))


def vessel_rows(rng, series):
    held = None
    for moment in moments():
        if held is None or moment < FROZEN:
            level = 61 + (hourly(SUPPLY, moment) - 91) * 0.5 + rng.uniform(-0.3, 0.3)
            held = {
                "LT-405": microampere(level, 0, 100),
                "TT-331": microampere(58 + rng.uniform(-0.8, 0.8), 0, 120),
                "QT-12": microampere(17.5 + rng.uniform(-0.9, 0.9), 0, 50),
            }
        for tag, raw in held.items():
            series[tag].append((moment, raw))


def write_rows(path, header, rows):
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def stamp(moment):
    return moment.strftime("%Y-%m-%d %H:%M")


def alarms(rng):
    rows = [
        (REPLACED - timedelta(minutes=9), "TT-207", "SIG-11", "signal below 3.6 mA"),
        (REPLACED - timedelta(minutes=2), "TT-207", "SIG-12", "signal back"),
        (REWIRED - timedelta(minutes=8), "PT-118", "SIG-11", "signal below 3.6 mA"),
        (REWIRED - timedelta(minutes=8), "PT-119", "SIG-11", "signal below 3.6 mA"),
        (REWIRED - timedelta(minutes=1), "PT-118", "SIG-12", "signal back"),
        (REWIRED - timedelta(minutes=1), "PT-119", "SIG-12", "signal back"),
        (FROZEN, "C7", "BUS-77", "coupler restarted, 3 channels hold last value"),
        (datetime(2026, 11, 5, 2, 14), "C7", "BUS-02", "acknowledged at the cabinet"),
        (datetime(2026, 11, 5, 23, 30), "VT-09", "VIB-20", "trend warning, 5.0 mm/s passed"),
    ]
    moment = REWIRED
    while moment < END:
        rows.append((moment, "P-14", "DPL-14", "differential pressure negative"))
        moment += timedelta(minutes=rng.choice((40, 60, 80, 110)))
    for day in ("2026-11-03", "2026-11-04", "2026-11-05", "2026-11-06"):
        rows.append((datetime.fromisoformat(f"{day} 00:05"), "circuit 2", "BAL-03", "loss below 0"))
    noise = (
        ("SUB-19", "COM-40", "substation meter late"),
        ("P-13", "SEQ-07", "standby test passed"),
        ("F-2", "FLT-05", "filter differential 0.3 bar"),
        ("SUB-07", "COM-40", "substation meter late"),
        ("boiler 1", "BRN-31", "burner restart after purge"),
        ("SUB-23", "COM-41", "substation meter back"),
        ("UPS", "PWR-02", "self-test passed"),
    )
    for _ in range(190):
        minutes = rng.randint(0, int((END - START).total_seconds() // 60))
        rows.append((START + timedelta(minutes=minutes), *rng.choice(noise)))
    rows.sort()
    return [(stamp(row[0]), *row[1:]) for row in rows]


def main():
    rng = random.Random(31206)
    names = [
        "FT-311",
        "TT-205",
        "TT-206",
        "FT-312",
        "TT-207",
        "TT-208",
        "PT-118",
        "PT-119",
        "VT-08",
        "VT-09",
        "TT-140",
        "TT-141",
        "ST-14",
        "TT-001",
        "LT-405",
        "TT-331",
        "QT-12",
    ]
    series = {name: [] for name in names}
    kwh = {}
    circuit_rows(rng, series, kwh)
    pump_rows(rng, series)
    vessel_rows(rng, series)
    for name, rows in series.items():
        write_rows(f"data/{name}.csv", ("time", "raw"), [(stamp(m), raw) for m, raw in rows])
    meters = []
    for (day, circuit), energy in sorted(kwh.items()):
        if day == END.date().isoformat():
            continue
        share = 1 - LOSS[circuit] + rng.uniform(-0.0006, 0.0006)
        meters.append((day, circuit, round(energy * share)))
    write_rows("data/substations.csv", ("day", "circuit", "kwh"), meters)
    write_rows("logs/alarms.csv", ("time", "source", "code", "text"), alarms(rng))


main()
