"""Leases: who may run which job, until when."""

from dataclasses import dataclass


@dataclass
class Lease:
    token: str
    job_id: str
    worker_id: str
    granted_at: int
    expires_at: int


class LeaseTable:
    def __init__(self, config):
        self.ttl_seconds = config.get("lease", "ttl", 60)
        self.grace_seconds = config.get("lease", "grace", 0)
        self.held = {}
        self._count = 0

    def grant(self, job_id, worker_id, now):
        self._count += 1
        token = f"L{self._count:04d}"
        lease = Lease(token, job_id, worker_id, now, now + self.ttl_seconds)
        self.held[token] = lease
        return lease

    def renew(self, token, sent_at):
        """Renew a lease; tell whether it was still held."""
        lease = self.held.get(token)
        if lease is None:
            return False
        lease.expires_at = sent_at + self.ttl_seconds
        return True

    def expired(self, now):
        return [
            lease
            for lease in self.held.values()
            if now >= lease.expires_at + self.grace_seconds
        ]

    def release(self, token):
        return self.held.pop(token, None)
