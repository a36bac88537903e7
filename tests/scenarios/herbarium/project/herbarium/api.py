"""The API that the garden's web application mounts: `handle(app, user, method, path, body)`."""

import re

from herbarium.errors import HerbError
from herbarium.permissions import check
from herbarium.services import bulk, labels, loans, notes, specimens, taxa


def handle(app, user, method, path, body=None):
    """Return a status and a JSON-ready answer."""
    for wanted, pattern, function in ROUTES:
        match = re.fullmatch(pattern, path)
        if wanted == method and match:
            try:
                return 200, function(app, user, *match.groups(), **(body or {}))
            except HerbError as error:
                return error.status, {"code": error.code, "error": error.text}
            except TypeError:
                return 400, {"code": "HB-400", "error": "the body does not fit the route"}
    return 404, {"code": "HB-404", "error": f"no route {method} {path}"}


def _list(app, user, table, page=1):
    check(user, "read")
    rows = app.store.rows(table)
    size = app.config.page_rows
    return {"rows": rows[(page - 1) * size : page * size], "total": len(rows)}


def _get(app, user, table, row_id):
    check(user, "read")
    return app.store.get(table, row_id)


def _find(app, user, text):
    check(user, "read")
    return {"ids": app.search.find(text)}


def _counts(app, user):
    check(user, "read")
    return app.stats.counts()


def _added(function):
    return lambda app, user, *a, **k: {"id": function(app, user, *a, **k)}


def _done(function):
    return lambda app, user, *a, **k: {"ok": True, "result": function(app, user, *a, **k)}


ROUTES = (
    ("GET", r"/(specimens|taxa|loans|labels|notes)", _list),
    ("GET", r"/(specimens|taxa|loans|labels|notes)/([A-Z]{2}-\d{6})", _get),
    ("GET", r"/search", _find),
    ("GET", r"/counts", _counts),
    ("POST", r"/specimens", _added(specimens.add)),
    ("PATCH", r"/specimens/(HB-\d{6})", _done(specimens.edit)),
    ("POST", r"/specimens/(HB-\d{6})/move", _done(specimens.move)),
    ("POST", r"/specimens/move", _done(bulk.move_all)),
    ("DELETE", r"/specimens/(HB-\d{6})", _done(specimens.remove)),
    ("POST", r"/taxa", _added(taxa.add)),
    ("POST", r"/taxa/(TX-\d{6})/rename", _done(taxa.rename)),
    ("POST", r"/taxa/(TX-\d{6})/merge", _done(taxa.merge)),
    ("POST", r"/loans", _added(loans.lend)),
    ("POST", r"/loans/(LN-\d{6})/extend", _done(loans.extend)),
    ("POST", r"/loans/(LN-\d{6})/return", _done(loans.take_back)),
    ("POST", r"/labels", _added(labels.queue)),
    ("POST", r"/labels/(LB-\d{6})/printed", _done(labels.mark_printed)),
    ("POST", r"/notes", _added(notes.add)),
    ("DELETE", r"/notes/(NT-\d{6})", _done(notes.remove)),
)
