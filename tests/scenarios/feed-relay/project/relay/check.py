import sys

from relay.settings import load
from relay.wire import frame_bytes

RETIRED = {"feed.kestrelwx.example": "RLY-301 host retired, see docs/upstream.md"}
MAX_FRAME_BYTES = 8192
MIN_RETRY_SECONDS = 15


def problems(settings):
    host = settings["upstream"]["host"]
    if host in RETIRED:
        yield f"upstream.host {host}: {RETIRED[host]}"
    size = frame_bytes(settings["delivery"]["batch_size"])
    if size > MAX_FRAME_BYTES:
        yield f"delivery.batch_size: RLY-413 frame of {size} bytes, allowed {MAX_FRAME_BYTES}"
    first = settings["delivery"]["retry_delays_seconds"][0]
    if first < MIN_RETRY_SECONDS:
        yield f"delivery.retry_delays_seconds: RLY-429 first retry after {first} s"


if __name__ == "__main__":
    found = list(problems(load()))
    print("\n".join(found) or "clean")
    sys.exit(bool(found))
