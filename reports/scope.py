"""From how many projects the sessions of a run come, and so about what its intervals are."""

from reports.frames import Run, project_names
from reports.wording import plural


def scope(run: Run, provenance: str) -> str | None:
    """Return a line about the sessions of a provenance; None where no project is known."""
    rows = run.rows[run.rows["provenance"] == provenance]
    names = project_names(rows).groupby(rows["session"].to_numpy()).first()
    n_known, n_projects = int(names.notna().sum()), int(names.nunique())
    if not n_projects:
        return None
    lone = len(names) - n_known
    text = f"{plural(n_known, 'session')} of {plural(n_projects, 'project')}"
    unknown = f", and {plural(lone, 'session')} of unknown projects" if lone else ""
    if run.clusters_are == "project":
        alone = "; a session of no known project stands alone" if lone else ""
        return (
            f"{text}{unknown}: intervals and tests draw whole projects, wherever a text says "
            f"session{alone}."
        )
    return (
        f"{text}{unknown}: intervals and tests are about further sessions of these projects, not "
        "about other projects (--cluster project draws whole projects)."
    )
