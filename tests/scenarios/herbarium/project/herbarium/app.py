"""The parts of the catalogue, put together."""

from herbarium.audit import Audit
from herbarium.clock import SystemClock
from herbarium.config import Config
from herbarium.events import Bus
from herbarium.search import SearchIndex
from herbarium.stats import Stats
from herbarium.store import Store


class App:
    def __init__(self, store=None, clock=None, config=None):
        self.store = store or Store()
        self.clock = clock or SystemClock()
        self.config = config or Config()
        self.bus = Bus()
        self.audit = Audit(self.store, self.clock)
        self.search = SearchIndex(self.store, self.bus)
        self.stats = Stats(self.store, self.bus)
