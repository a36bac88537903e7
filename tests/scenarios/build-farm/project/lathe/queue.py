"""The queue of ready jobs: by priority, the longer waiting first, with aging."""

import heapq


class ReadyQueue:
    def __init__(self, aging_seconds=600):
        self.aging_seconds = aging_seconds
        self._heap = []

    def push(self, job, now):
        heapq.heappush(self._heap, (self._rank(job, now, now), job.job_id, now, job))

    def _rank(self, job, since, now):
        """Return the priority after aging: one step better per waiting period, at best 1."""
        steps = (now - since) // self.aging_seconds
        return max(1, job.priority - steps)

    def pop(self, now, labels):
        """Return the best job that a worker with these labels can run now, or None."""
        skipped, found = [], None
        while self._heap and found is None:
            entry = heapq.heappop(self._heap)
            job = entry[3]
            if job.not_before <= now and set(job.labels) <= set(labels):
                found = job
            else:
                skipped.append(entry)
        for entry in skipped:
            heapq.heappush(self._heap, entry)
        return found

    def __len__(self):
        return len(self._heap)
