"""The most memory that this process has held."""

import re
import resource
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_kib() -> int:
    """Return the peak of this program alone.

    On Linux `getrusage` begins with the peak of the process that started this one, so that what a
    large parent starts seems large from the first line on.
    """
    if STATUS.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB$", STATUS.read_text(encoding="ascii"), re.MULTILINE)
        if found is not None:
            return int(found[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
