import tomllib
from pathlib import Path


def load(path="relay.toml"):
    return tomllib.loads(Path(path).read_text("utf-8"))


def total_wait_seconds(settings):
    return sum(settings["delivery"]["retry_delays_seconds"][:-1])
