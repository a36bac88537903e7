"""Settings from config/farm.toml."""

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class Config:
    def __init__(self, data):
        self.data = data
        self.used_defaults = []

    def get(self, section, key, default):
        """Return a setting, or the default; defaults in use are remembered for the log."""
        value = self.data.get(section, {}).get(key)
        if value is None:
            self.used_defaults.append(f"{section}.{key}={default}")
            return default
        return value


def load_config(root=ROOT):
    return Config(tomllib.loads((root / "config/farm.toml").read_text("utf-8")))


def load_workers(root=ROOT):
    return json.loads((root / "config/workers.json").read_text("utf-8"))
