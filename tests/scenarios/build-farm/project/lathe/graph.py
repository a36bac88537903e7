"""Dependencies between jobs."""


class CycleError(Exception):
    """A plan whose jobs wait for each other."""


class Graph:
    def __init__(self, jobs):
        self.jobs = jobs
        self.users = {job_id: [] for job_id in jobs}
        for job in jobs.values():
            for dep in job.deps:
                if dep not in jobs:
                    raise KeyError(f"{job.job_id}: unknown dependency {dep}")
                self.users[dep].append(job.job_id)

    def order(self):
        """Return the ids such that every job comes after its dependencies."""
        left = {job_id: len(set(job.deps)) for job_id, job in self.jobs.items()}
        ready = [job_id for job_id, count in left.items() if count == 0]
        found = []
        while ready:
            job_id = ready.pop(0)
            found.append(job_id)
            for user in self.users[job_id]:
                left[user] -= 1
                if left[user] == 0:
                    ready.append(user)
        if len(found) < len(self.jobs):
            stuck = sorted(set(self.jobs) - set(found))
            raise CycleError("LT-900: cycle among " + ", ".join(stuck))
        return found

    def is_ready(self, job_id):
        job = self.jobs[job_id]
        return job.state == "waiting" and all(self.jobs[d].state == "done" for d in job.deps)

    def doomed_by(self, job_id):
        """Return the jobs that can never run once this one has failed for good."""
        return [user for user in self.users[job_id] if self.jobs[user].state == "waiting"]
