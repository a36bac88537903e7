"""Figures of a night."""


def percentile(values, percent):
    """Return the smallest value that at least `percent` of the values do not exceed."""
    ordered = sorted(values)
    if not ordered:
        return 0
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def summary(jobs, cache, durations, outcome):
    states = {state: 0 for state in ("done", "failed", "skipped", "waiting", "queued", "running")}
    for job in jobs.values():
        states[job.state] += 1
    lookups = cache.hits + cache.misses
    return {
        "outcome": outcome,
        **states,
        "hit_percent": cache.hits * 100 // lookups if lookups else 0,
        "evicted": len(cache.evicted),
        "p50": percentile(durations, 50),
        "p95": percentile(durations, 95),
    }
