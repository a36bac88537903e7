"""The key of an artifact; see docs/cache.md."""

import hashlib

SCHEMA = 1


def key_text(job, input_keys):
    fields = [str(SCHEMA), job.target, job.sources, *sorted(job.flags), *sorted(input_keys)]
    return "".join(fields)


def artifact_key(job, input_keys):
    return hashlib.sha256(key_text(job, input_keys).encode("utf-8")).hexdigest()[:20]
