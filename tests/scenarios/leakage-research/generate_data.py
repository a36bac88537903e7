"""Fill the authored pages below `site/` with what pages have around their content, seeded.

A line `{{name arguments}}` becomes a table, a list of references, comments or paragraphs on method;
each page gets the menu and the foot of its host. What the research needs stands in the pages
themselves, nothing here matters to it. Also writes `site/index.json` and `site/moved.json`.
"""

import json
import random
import re
from pathlib import Path

SITE = Path("site")
MENUS = {
    "own.example": "Home | Statistics | Decisions | Guidance | Enforcement | Contact",
    "wharrow-water.example": "Your account | Report a leak | News | Our plans | Reports | Help",
    "calderu.example": "Study | Research | People | Repository | Seminars | Visit",
    "jwn.example": "Current issue | Archive | Authors | Editors | Subscribe | Alerts",
    "tarnpost.example": "News | Sport | Letters | Weather | Notices | Crossword",
    "lowmoor.example": "Council | Committees | Services | Planning | Jobs | Pay",
}
FEET = (
    "Cookies: this site stores one cookie to remember that you have read this line.",
    "Was this page useful? Yes / No. Your answer is not linked to your visit.",
    "Accessibility statement. Large print and other languages on request.",
    "Terms of use. Reproduction is permitted with acknowledgement of the source.",
)
STREETS = (
    "Tenter Row",
    "Kiln Lane",
    "Ropewalk",
    "Sallow Street",
    "Weir Bank",
    "Chapel Fold",
    "Dyehouse Yard",
    "Long Causeway",
    "Orchard Rise",
    "Gas Street",
)
CAUSES = ("battery", "battery", "battery", "water ingress", "radio", "battery", "theft or traffic")
TECHNICAL = (
    "Night flow was taken between two and four o'clock; tanks dominate shorter windows.",
    "Pressure was logged at the critical point of each area, in {a} areas by a portable device.",
    "Areas with an open boundary valve were left out for the month; this concerns {a} records.",
    "Missing quarters of an hour were filled by the mean of their neighbours, up to {b} in a row.",
    "Large users with their own meters were subtracted at the hour of the night flow.",
    "Repairs were taken from the works register and assigned to areas by the position of the job.",
    "Rainfall and frost days came from the nearest station, at most {c} kilometres away.",
    "The length of main was taken from the geographical record of 1 April.",
    "Each month was weighted by its number of valid days; months with fewer than {d} were dropped.",
    "Two persons read the quality flags independently and agreed in {e} per cent of the cases.",
    "Public holidays are treated like Sundays.",
    "The hour-day factor was computed from the pressure of the same week and lies near {d}.",
    "A change of a meter is marked in the record, and the reading of both meters is kept.",
    "Service pipes between the main and the stop tap are included, pipes inside of houses are not.",
    "Interventions of the fire service are known to the hour and were taken out.",
    "We did not smooth the series; the charts show monthly means.",
    "In {b} areas the telemetry failed for more than a week, most of them in one storm.",
    "Sensitivity to the choice of the window is given in the annex and is below {b} per cent.",
    "The zone map of 2022 was used throughout, also for earlier years.",
    "Values were rounded only for print.",
    "Acoustic levels are reported relative to the quietest night of the week before.",
    "Correlation between neighbouring devices needs clocks that agree within {d} milliseconds.",
    "A point of interest is raised when the level stays above the threshold for {b} nights.",
    "Roadworks of other companies were taken from the county's register.",
    "No adjustment was made for the price of energy.",
    "The company's own estimate of burst frequency, {a} per 1,000 kilometres, was not used.",
    "Field crews noted the pipe material at each excavation; the record was wrong in {b} of 100.",
    "Step tests were carried out in {b} areas to confirm the level of background leakage.",
    "An area counts as operating when its inflow is known on {e} per cent of the days.",
    "Comments on the method can be sent to the address at the foot of this page.",
)
COUNCIL = (
    "The minutes of the last meeting were agreed with {b} corrections.",
    "A petition with {a} names about the crossing at Mill Bank was received.",
    "Members asked for figures on potholes by ward; the officer will write to them.",
    "The gritting routes remain as last winter, with {b} additions in the dales.",
    "The report on school transport was deferred.",
    "It was noted that {a} of 214 street lamps are out of order.",
    "Declarations of interest: none.",
    "The public gallery was reminded that recording is permitted and shouting is not.",
    "The next site visit takes place on a Tuesday; boots are needed.",
    "The committee thanked the clerk, who retires after {d} years.",
    "The budget monitor shows an underspend of {e} thousand pounds on verges.",
    "Questions from the public must be handed in {b} working days before the meeting.",
    "The hearing loop in Committee Room 2 has been repaired.",
    "Councillors were reminded of the training on flood plans.",
    "A written answer on bus shelters is attached.",
)
PRESS = (
    "We serve more than a hundred thousand homes and are proud of every one of them.",
    "Follow the weather advice before you travel to one of our reservoirs.",
    "Our apprentices started in September; {d} of them come from the valley.",
    "You can report a leak by telephone day and night.",
    "The picture shows a crew at work and may be used free of charge.",
    "This page was read {a}0 times last month.",
    "For interviews ring the press desk on working days between nine and four.",
    "We plant {a} trees for each kilometre of new main.",
    "Customers on the priority register are told of interruptions by text message.",
    "Our visitor centre at the dam opens at Easter.",
    "Sign up for our letter and never miss a story.",
    "All figures in this text were checked on the day of publication.",
    "Terms and conditions apply to the prize draw.",
    "Since last year meter readings can be sent by photograph.",
    "Our team grew by {b} people and a dog.",
)
COUNCIL_KINDS = ("agenda", "minutes", "policy", "authority notice")
LONG_KINDS = (
    "journal article",
    "journal article, review",
    "preprint",
    "company report",
    "methodology",
)
CHATTY_KINDS = ("forum thread", "encyclopaedia", "staff page", "authority notice")
ITEMS = (
    "street lighting in the dales",
    "bus shelters",
    "bridge inspections",
    "verges and hedges",
    "school crossings",
    "flood gates at the weir",
    "parking at the market hall",
    "winter stocks of salt",
    "footpath diversions",
    "noise of the bypass",
)
HEADLINES = (
    "Works at {} finished early",
    "Five questions about {}",
    "New pump for {}",
    "What we learnt at {}",
    "Open day near {}",
    "{}: road closed on Sunday",
    "Thank you, {}",
    "An evening on {}",
)
FAMILY = ("Abbasi", "Corrigan", "Duval", "Eklund", "Farrow", "Gantz", "Ihara", "Jessop", "Kovar")
TOPICS = (
    "night flow",
    "pressure transients",
    "mains renewal",
    "customer-side leakage",
    "metering",
    "step testing",
    "noise correlation",
    "pipe condition",
)
REMARKS = (
    "My street has been wet since Easter and nobody listens to that.",
    "Fix the pipes first and buy gadgets later.",
    "We had a dry hole outside the shop, three days of barriers for nothing.",
    "Good news for the river, for once.",
    "Who pays for the batteries?",
    "The engineer who came was polite and knew what he was doing.",
    "Percentages of what? The article does not say.",
    "I worked on these mains in the eighties, half of them are not on any map.",
)


def methods(rng, kind, count):
    bank = TECHNICAL
    if kind in COUNCIL_KINDS:
        bank = COUNCIL
    elif is_public_relations(kind):
        bank = PRESS
    chosen = rng.sample(bank, min(3 * int(count), len(bank)))
    lines = [
        text.format(
            a=rng.randint(11, 96),
            b=rng.randint(2, 9),
            c=rng.randint(3, 28),
            d=rng.randint(15, 25),
            e=rng.randint(88, 98),
        )
        for text in chosen
    ]
    return "\n\n".join(" ".join(lines[k : k + 3]) for k in range(0, len(lines), 3))


def dma(rng, prefix, count):
    rows = ["| area | properties | km | night flow l/s | pressure m | burst repairs |"]
    rows.append("|---|---|---|---|---|---|")
    for number in range(1, int(count) + 1):
        flow, km = f"{rng.randint(8, 95) / 10:.1f}", f"{rng.randint(60, 240) / 10:.1f}"
        rows.append(
            f"| {prefix}-{number:02d} | {rng.randint(480, 1980):,} | {km} "
            f"| {flow} | {rng.randint(28, 61)} | {rng.randint(0, 27)} |"
        )
    return "\n".join(rows)


def zones(rng, *known):
    rows = [tuple(item.split("=")) for item in known]
    for name in ("Arkle", "Birk", "Dunmere", "Eller", "Gelt", "Hodd", "Irt", "Keld", "Lune Side"):
        rows.append((name, f"{rng.randint(880, 1240) / 10:.1f}"))
    return "\n".join(
        ["| zone | value |", "|---|---|", *(f"| {n} | {v} |" for n, v in sorted(rows))]
    )


def loggers(rng, _kind, count):
    rows = []
    for _ in range(int(count)):
        serial = f"SX4-{rng.randint(0, 16**5 - 1):05x}"
        month = rng.choice(("02", "03", "04", "05"))
        rows.append(
            f"| {serial} | {rng.choice(STREETS)} | 2024-{month}-{rng.randint(1, 28):02d} "
            f"| 2024-{rng.randint(6, 12):02d} | {rng.choice(CAUSES)} |"
        )
    return "\n".join(rows)


def refs(rng, _kind, count):
    lines = ["## References", ""]
    for number in range(1, int(count) + 1):
        first = rng.randint(1, 380)
        lines.append(
            f"{number}. {rng.choice(FAMILY)}, {rng.choice('ABCDEFGHJKLM')}. "
            f"({rng.randint(2004, 2024)}) On {rng.choice(TOPICS)} and {rng.choice(TOPICS)}. "
            f"JWN {rng.randint(20, 40)}({rng.randint(1, 4)}), {first}-{first + rng.randint(6, 22)}."
        )
    return "\n".join(lines)


def comments(rng, _kind, count):
    lines = ["Comments", ""]
    for _ in range(int(count)):
        lines.append(f"> {rng.choice(REMARKS)} ({rng.randint(0, 41)} agree)")
    return "\n".join(lines)


def series(rng):
    rows = ["## Annex: monthly series", "", "| month | inflow Ml/d | night flow l/s | frost days |"]
    rows.append("|---|---|---|---|")
    for number in range(26):
        year, month = divmod(number, 12)
        inflow, flow = rng.randint(2810, 3390) / 100, rng.randint(880, 1490) / 10
        frost = rng.randint(0, 14) if month in (0, 1, 10, 11) else 0
        rows.append(f"| {2023 + year}-{month + 1:02d} | {inflow:.2f} | {flow:.1f} | {frost} |")
    return "\n".join(rows)


def register(rng):
    rows = ["## Register of decisions", ""]
    for number in range(22):
        year, month = divmod(number, 12)
        rows.append(
            f"- {2024 + year}-{month + 1:02d}, item {rng.randint(1, 9)}: {rng.choice(ITEMS)}; "
            f"{rng.choice(('agreed', 'deferred', 'noted', 'withdrawn', 'agreed with changes'))}"
        )
    return "\n".join(rows)


def earlier(rng):
    rows = ["## Earlier on this site", ""]
    for _ in range(20):
        rows.append(
            f"- {rng.randint(2022, 2025)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}: "
            f"{rng.choice(HEADLINES).format(rng.choice(STREETS))} ({rng.randint(1, 6)} min)"
        )
    return "\n".join(rows)


def related(rng, url, index):
    """Return a side bar with links to other pages: those of the host first, then any."""
    own = [other for other in sorted(index) if other.split("/")[2] == url.split("/")[2]]
    rest = [other for other in sorted(index) if other not in own]
    chosen = [other for other in own if other != url][:4]
    chosen += rng.sample(rest, 9 - len(chosen))
    rows = [f"- {index[other]['title']}: {other}" for other in chosen]
    return "\n".join(["## Others also read", "", *rows])


def annex(rng, kind):
    """Return what follows the content of a page of this kind."""
    if kind in COUNCIL_KINDS:
        return register(rng)
    if kind in LONG_KINDS:
        return f"{series(rng)}\n\n## Annex: areas\n\n{dma(rng, 'AR', 34)}"
    chatty = is_public_relations(kind) or "newspaper" in kind or kind in CHATTY_KINDS
    return earlier(rng) if chatty else series(rng)


def is_public_relations(kind):
    return "blog" in kind or kind in ("press release", "help page", "consumer body")


def filled(match, kind):
    name, *arguments = match.group(1).split()
    if name == "dma":
        prefix, count, seed = arguments
        return dma(random.Random(f"dma {prefix} {seed}"), prefix, count)
    if name == "zones":
        return zones(random.Random(f"zones {arguments[0]}"), *arguments[1:])
    first, second = arguments
    count, seed = (second, first) if name == "methods" else (first, second)
    makers = {"methods": methods, "loggers": loggers, "refs": refs, "comments": comments}
    return makers[name](random.Random(f"{name} {seed}"), kind, count)


def main():
    pages, index = {}, {}
    for page in sorted(SITE.rglob("*.md")):
        url = "https://" + page.relative_to(SITE).as_posix().removesuffix(".md")
        head, pages[url] = page.read_text("utf-8").split("---\n", 1)
        index[url] = dict(line.split(": ", 1) for line in head.splitlines())
    for url, source in pages.items():
        kind, rng = index[url]["kind"], random.Random(f"annex {url}")
        body = re.sub(r"\{\{(.+?)\}\}", lambda match, kind=kind: filled(match, kind), source)
        menu = MENUS.get(url.split("/")[2], "Home | About | Contact")
        blocks = (f"[{menu}]", body.strip(), annex(rng, kind), related(rng, url, index), "--")
        text = "\n\n".join(blocks) + "\n" + "\n".join(rng.sample(FEET, 2)) + "\n"
        (SITE / f"{url.removeprefix('https://')}.md").write_text(text, "utf-8")
    moved = {
        "https://calderu.example/skelby": "https://calderu.example/water/skelby-evaluation",
        "https://calderu.example/repository/skelby-data-v1": (
            "https://calderu.example/repository/skelby-data-v2"
        ),
        "https://own.example/statistics/revisions": (
            "https://own.example/statistics/revisions/2026-03-11"
        ),
    }
    for name, value in (("index", index), ("moved", moved)):
        (SITE / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n", "utf-8")


main()
