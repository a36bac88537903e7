"""The coordinator: a discrete simulation on the virtual clock."""

import heapq
import random

from lathe.cache import Artifact, ArtifactCache
from lathe.cachekey import artifact_key
from lathe.graph import Graph
from lathe.journal import Journal, replay
from lathe.lease import LeaseTable
from lathe.model import TERMINAL
from lathe.queue import ReadyQueue
from lathe.report import summary
from lathe.retry import RetryPolicy
from lathe.workers import Pool


class Coordinator:
    def __init__(self, jobs, workers, config, clock, log, seed=None, restart_at=None):
        self.jobs, self.clock, self.log = jobs, clock, log
        self.graph = Graph(jobs)
        self.pool = Pool(workers)
        self.leases = LeaseTable(config)
        self.retry = RetryPolicy(config)
        self.queue = ReadyQueue(config.get("queue", "aging_seconds", 600))
        self.cache = ArtifactCache(config.get("cache", "capacity_kib", 46000))
        self.journal = Journal(config.get("journal", "records_per_segment", 24))
        self.tick_seconds = config.get("farm", "tick_seconds", 10)
        self.horizon_seconds = config.get("farm", "horizon_seconds", 21600)
        self.heartbeat_seconds = config.get("lease", "heartbeat_seconds", 30)
        self.rng = random.Random(config.get("farm", "seed", 41) if seed is None else seed)
        self.restart_at = restart_at
        self.keys, self.durations, self.runs = {}, [], {}
        self._events, self._order = [], 0
        self._defaults = list(config.used_defaults)

    # -- the loop ------------------------------------------------------------------------

    def run(self):
        self.log.write(
            "start", jobs=len(self.jobs), workers=len(self.pool.workers), defaults=self._defaults
        )
        for job_id in self.graph.order():
            job = self.jobs[job_id]
            inputs = [self.keys[dep] for dep in job.deps]
            self.keys[job_id] = artifact_key(job, inputs)
        self._at(0, "tick")
        if self.restart_at is not None:
            self._at(self.restart_at, "restart")
        while self._events:
            moment, _, kind, data = heapq.heappop(self._events)
            self.clock.now = moment
            getattr(self, f"_on_{kind}")(*data)
        over = all(job.state in TERMINAL for job in self.jobs.values())
        figures = summary(self.jobs, self.cache, self.durations, "OVER" if over else "STALLED")
        self.log.write("end", level="INFO" if over else "ERROR", **figures)
        return figures

    def _at(self, moment, kind, *data):
        self._order += 1
        heapq.heappush(self._events, (moment, self._order, kind, data))

    def _set(self, job, state, **more):
        job.state = state
        job.history.append((self.clock.now, state))
        self.journal.append(at=self.clock.now, job=job.job_id, state=state, **more)

    # -- events --------------------------------------------------------------------------

    def _on_tick(self):
        now = self.clock.now
        for lease in self.leases.expired(now):
            self._expire(lease)
        self._enqueue_ready()
        self._dispatch()
        over = all(job.state in TERMINAL for job in self.jobs.values())
        if not over and now + self.tick_seconds <= self.horizon_seconds:
            self._at(now + self.tick_seconds, "tick")

    def _on_heartbeat(self, token, worker_id):
        worker = self.pool.workers[worker_id]
        if worker.token != token:
            return
        sent_at = self.clock.now + worker.clock_offset_seconds
        held = self.leases.renew(token, sent_at)
        self.log.write(
            "heartbeat", worker=worker_id, lease=token, sent=self.clock.stamp(worker.clock_offset_seconds),
            held="yes" if held else "no",
        )
        self._at(self.clock.now + self.heartbeat_seconds, "heartbeat", token, worker_id)

    def _on_finish(self, token, worker_id, job_id, attempt, seconds):
        worker = self.pool.workers[worker_id]
        worker.token = None
        job = self.jobs[job_id]
        self._unpin_inputs(job)
        lease = self.leases.release(token)
        if lease is None:
            self.log.write("late", level="WARN", code="LT-409", job=job_id, worker=worker_id, lease=token)
            return self._dispatch()
        code = self._outcome(job, attempt)
        if code is None:
            self.durations.append(seconds)
            self._store(job)
            self._finish(job, worker=worker_id, lease=token, seconds=seconds)
        else:
            self._fail(job, code, worker_id)
        self._enqueue_ready()
        self._dispatch()

    def _on_restart(self):
        states = replay(self.journal.segments)
        lost = [job for job in self.jobs.values() if job.state != states.get(job.job_id, "waiting")]
        self.log.write(
            "restart", level="WARN", segments=len(self.journal.segments), jobs=len(states),
            done=sum(state == "done" for state in states.values()), differ=len(lost),
        )
        for job in lost:
            job.state = states.get(job.job_id, "waiting")
            if job.state in ("queued", "running"):
                job.state = "waiting"

    # -- what happens to a job -----------------------------------------------------------

    def _enqueue_ready(self):
        for job_id in self.jobs:
            if self.graph.is_ready(job_id):
                job = self.jobs[job_id]
                self._set(job, "queued")
                self.queue.push(job, self.clock.now)

    def _dispatch(self):
        for worker in self.pool.idle():
            job = self.queue.pop(self.clock.now, self.pool.labels_of(worker.worker_id))
            while job is not None and self._from_cache(job):
                self._enqueue_ready()
                job = self.queue.pop(self.clock.now, self.pool.labels_of(worker.worker_id))
            if job is not None:
                self._grant(job, worker)

    def _from_cache(self, job):
        found = self.cache.lookup(self.keys[job.job_id], self.clock.now)
        if found is None:
            return False
        self._finish(job, cached=found.key, built=found.toolchain)
        return True

    def _grant(self, job, worker):
        now = self.clock.now
        lease = self.leases.grant(job.job_id, worker.worker_id, now)
        worker.token = lease.token
        for dep in job.deps:
            self.cache.pin(self.keys[dep])
        self._set(job, "running", worker=worker.worker_id, lease=lease.token)
        self.runs[job.job_id] = self.runs.get(job.job_id, 0) + 1
        self.log.write(
            "grant", job=job.job_id, worker=worker.worker_id, lease=lease.token,
            attempt=job.attempt, prio=job.priority,
        )
        seconds = worker.duration(job, self.rng)
        self._at(now + self.heartbeat_seconds, "heartbeat", lease.token, worker.worker_id)
        self._at(now + seconds, "finish", lease.token, worker.worker_id, job.job_id, job.attempt, seconds)

    def _outcome(self, job, attempt):
        """Return the code with which an attempt fails, or None."""
        missing = [dep for dep in job.deps if not self.cache.has(self.keys[dep])]
        if missing:
            for dep in missing:
                self._set(self.jobs[dep], "waiting")
            return "LT-404"
        built = {self.cache.artifacts[self.keys[dep]].toolchain for dep in job.deps}
        if job.toolchain != "host" and built - {job.toolchain, "host"}:
            return "LT-088"
        return job.fails[attempt - 1] if attempt <= len(job.fails) else None

    def _store(self, job):
        key = self.keys[job.job_id]
        artifact = Artifact(key, job.job_id, job.toolchain, job.size_kib, self.clock.now)
        for gone in self.cache.put(artifact):
            self.log.write("evict", job=gone.job_id, key=gone.key, kib=gone.size_kib)

    def _finish(self, job, **fields):
        self._set(job, "done")
        self.log.write("done", job=job.job_id, **fields)

    def _fail(self, job, code, worker_id):
        if self.retry.is_retryable(code, job.attempt):
            delay = self.retry.delay_seconds(job.job_id, job.attempt)
            self.log.write(
                "retry", level="WARN", code=code, job=job.job_id, worker=worker_id,
                attempt=job.attempt, delay=delay,
            )
            if code == "LT-137":
                job.labels = (*job.labels, "bigmem")
            job.attempt += 1
            job.not_before = self.clock.now + delay
            self._set(job, "waiting")
            return
        self.log.write("failed", level="ERROR", code=code, job=job.job_id, attempt=job.attempt)
        self._set(job, "failed")
        for user in self.graph.doomed_by(job.job_id):
            self.log.write("skipped", level="ERROR", code="LT-424", job=user, because=job.job_id)
            self._set(self.jobs[user], "skipped")

    def _expire(self, lease):
        job = self.jobs[lease.job_id]
        self.leases.release(lease.token)
        self._unpin_inputs(job)
        self.log.write(
            "expired", level="WARN", code="LT-504", job=job.job_id, worker=lease.worker_id,
            lease=lease.token, granted=lease.granted_at, expires=lease.expires_at, now=self.clock.now,
        )
        if job.attempt >= self.retry.max_attempts:
            return self._fail(job, "LT-504", lease.worker_id)
        job.attempt += 1
        self._set(job, "waiting")

    def _unpin_inputs(self, job):
        for dep in job.deps:
            self.cache.unpin(self.keys[dep])
