"""A small catalogue for tests."""

from herbarium.app import App
from herbarium.clock import StepClock
from herbarium.services import specimens, taxa


def garden():
    """Two taxa, three specimens; made by mira."""
    app = App(clock=StepClock())
    rue = taxa.add(app, "mira", "Thalictrum flavum", "Ranunculaceae")
    sedge = taxa.add(app, "mira", "Carex arenaria", "Cyperaceae")
    specimens.add(app, "mira", rue, "Saltmere fen", "A. Holm", "2019-07-02")
    specimens.add(app, "mira", rue, "Otter brook", "A. Holm", "2020-06-18")
    specimens.add(app, "mira", sedge, "West dunes", "P. Lindqvist", "2018-05-30")
    return app
