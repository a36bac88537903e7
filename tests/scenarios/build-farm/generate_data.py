"""Write plans, logs, journals and cache indexes of two nights into the current folder, seeded.

The logs and journals are what the project's own faulty code produces.
"""

import hashlib
import json
import random
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path.cwd()))

BOARDS = ("avocet", "curlew", "dunlin", "fulmar", "godwit", "knot", "petrel", "plover", "skua")
NIGHTS = {"2026-05-11": "armcc-14.2", "2026-05-12": "armcc-14.3"}
TOUCHED = {"avocet.app", "dunlin.hal", "godwit.app", "knot.boot", "petrel.hal", "skua.app"}


def digest(*parts):
    return hashlib.sha256(":".join(parts).encode()).hexdigest()[:12]


def row(job_id, toolchain, night, cost, size, **more):
    version = night if job_id in TOUCHED else "2026-05-11"
    return {
        "job_id": job_id,
        "target": more.pop("target", job_id),
        "toolchain": toolchain,
        "sources": digest(more.pop("of", job_id), version),
        "cost_seconds": cost,
        "size_kib": size,
        "deps": more.pop("deps", []),
        "flags": more.pop("flags", []),
        "labels": more.pop("labels", ["arm"]),
        "priority": more.pop("priority", 5),
        "fails": more.pop("fails", []),
    }


def plan(night, toolchain):
    rng = random.Random(f"plan:{len(BOARDS)}")
    rows = [
        row("gen.protocol", "host", night, 35, 400, labels=["host"], priority=3),
        row("gen.tables", "host", night, 50, 700, labels=["host"], priority=3),
        row("lib.crc", toolchain, night, 40, 300, flags=["-O2"]),
        row("lib.fs", toolchain, night, 95, 900, flags=["-O2"]),
        row("lib.radio", toolchain, night, 130, 1500, flags=["-O2", "-fno-strict"]),
    ]
    second = night == "2026-05-12"
    for board in BOARDS:
        cost = rng.randint(60, 190)
        size = rng.randint(700, 1500)
        fails = ["LT-137"] if board == "fulmar" else ["LT-075"] if board in ("knot", "skua") else []
        rows += [
            row(f"{board}.hal", toolchain, night, cost, size, flags=["-O2"], deps=["lib.crc"]),
            row(
                f"{board}.boot",
                toolchain,
                night,
                cost // 2 + 20,
                size // 2,
                flags=["-Os"],
                deps=["lib.crc", f"{board}.hal"],
                priority=4,
            ),
            row(
                f"{board}.app",
                toolchain,
                night,
                cost * 2,
                size * 2,
                flags=["-O0", "-O2"],
                deps=["gen.protocol", "lib.fs", "lib.radio", f"{board}.hal"],
                fails=fails,
            ),
            row(
                f"{board}.image",
                toolchain,
                night,
                45,
                size * 3,
                deps=[f"{board}.boot", f"{board}.app"],
                priority=4,
            ),
            row(
                f"{board}.hwtest",
                "host",
                night,
                cost + 150,
                60,
                labels=["host"],
                deps=[f"{board}.image"],
                priority=2,
                fails=["LT-001"] if second and board == "plover" else [],
            ),
        ]
    rows.append(
        row(
            "curlew.app-dbg",
            toolchain,
            night,
            160,
            2600,
            target="curlew.app",
            of="curlew.app",
            flags=["-O2", "-O0"],
            deps=["gen.protocol", "lib.fs", "lib.radio", "curlew.hal"],
            priority=6,
        )
    )
    images = [f"{board}.image" for board in BOARDS]
    rows += [
        row("release.bundle", "host", night, 120, 9000, labels=["host"], deps=images, priority=7),
        row(
            "release.notes",
            "host",
            night,
            20,
            40,
            labels=["host"],
            deps=["release.bundle"],
            priority=9,
        ),
        row(
            "release.upload-dry",
            "host",
            night,
            15,
            10,
            labels=["host"],
            deps=["release.notes"],
            priority=9,
        ),
        row("docs.site", "host", night, 240, 800, labels=["host"], deps=["gen.tables"], priority=9),
    ]
    return {"night": night, "jobs": rows}


def main():
    from lathe.cli import build

    for night, toolchain in NIGHTS.items():
        Path("plans").mkdir(exist_ok=True)
        text = json.dumps(plan(night, toolchain), indent=1)
        Path(f"plans/nightly-{night}.json").write_text(text + "\n", "utf-8")
    first, second = NIGHTS
    for night, restart_at, following in ((first, None, second), (second, 1730, None)):
        farm = build(night, restart_at=restart_at)
        farm.run()
        farm.log.save(Path(f"logs/nightly-{night}.log"))
        farm.journal.write(Path("journal"), night)
        if following:
            farm.cache.save(Path(f"cache/index-{following}.json"))


if __name__ == "__main__":
    main()
