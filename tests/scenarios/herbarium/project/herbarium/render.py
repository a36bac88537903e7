"""Text for people."""


def specimen_line(app, row):
    taxon = app.store.get("taxa", row["taxon"])
    return f"{row['id']}  {taxon['name']:<24} {row['place']:<20} {row['cabinet']}"


def loan_line(row):
    state = f"returned {row['returned_on']}" if row["returned_on"] else f"due {row['due_on']}"
    return f"{row['id']}  {row['specimen']}  {row['borrower']:<20} {state}"


def audit_line(line):
    detail = f" ({line['detail']})" if "detail" in line else ""
    return f"{line['at']}  {line['user']:<8} {line['action']:<16} {line['row']}{detail}"
