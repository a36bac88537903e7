"""Configuration: TOML for what we own, JSON for what partner-data gives us."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Partner:
    id: str
    name: str
    currency: str
    iban: str
    tier_volume_minor: int
    since: str
    hold: bool

    @property
    def number(self):
        return self.id.removeprefix("prt_")


@dataclass(frozen=True)
class Config:
    settlement: dict
    fees: dict
    partners: dict

    def get(self, section, key, default=None):
        return self.settlement.get(section, {}).get(key, default)


def load_config(root=ROOT):
    """Read all configuration files below root/config."""
    folder = Path(root) / "config"
    settlement = tomllib.loads((folder / "settlement.toml").read_text("utf-8"))
    fees = tomllib.loads((folder / "fees.toml").read_text("utf-8"))
    rows = json.loads((folder / "partners.json").read_text("utf-8"))["partners"]
    partners = {row["id"]: Partner(**row) for row in rows}
    if len(partners) != len(rows):
        raise ValueError("config/partners.json: a partner id occurs twice")
    return Config(settlement, fees, partners)
