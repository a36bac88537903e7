"""Write data/demo.json into the current folder (a copy of `project/`), with the project's code."""

import random
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path.cwd()))

TAXA = (
    ("Thalictrum flavum", "Ranunculaceae"),
    ("Carex arenaria", "Cyperaceae"),
    ("Eryngium maritimum", "Apiaceae"),
    ("Menyanthes trifoliata", "Menyanthaceae"),
    ("Drosera anglica", "Droseraceae"),
)
PLACES = ("Saltmere fen", "Otter brook", "West dunes", "Mill pond", "Long spit", "Heron wood")
COLLECTORS = ("A. Holm", "P. Lindqvist", "R. Quill")


def main():
    from herbarium.app import App
    from herbarium.clock import StepClock
    from herbarium.services import loans, notes, specimens, taxa

    rng = random.Random("herbarium")
    app = App(clock=StepClock("2026-05-28T09:00:00"))
    ids = [taxa.add(app, "mira", *taxon) for taxon in TAXA]
    for number in range(24):
        day = f"20{rng.randint(10, 25)}-{rng.randint(4, 9):02d}-{rng.randint(1, 28):02d}"
        row_id = specimens.add(
            app, "jonas", rng.choice(ids), rng.choice(PLACES), rng.choice(COLLECTORS), day
        )
        specimens.move(app, "jonas", row_id, f"Cabinet {1 + number % 12}")
    loans.lend(app, "mira", "HB-000005", "Museum of Arden")
    notes.add(app, "jonas", "HB-000009", "label hard to read")
    Path("data").mkdir(exist_ok=True)
    app.store.save(Path("data/demo.json"))


if __name__ == "__main__":
    main()
