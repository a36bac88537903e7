"""Small faults put into the code of the invariants, one at a time, and whether a test notices.

Run as a program it is given numbers of mutants, forks once for each, and prints `number verdict`;
a fork that hangs is killed and counts as noticed.
"""

import ast
import importlib.abc
import importlib.machinery
import os
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import hypothesis  # noqa: F401 - once for all forks
import pytest

ROOT = Path(__file__).parent.parent
CONTRACT = ROOT / "compaction" / "contract"
CODE = (
    *sorted((CONTRACT / "watches").glob("[a-z]*.py")),
    *sorted((CONTRACT / "experiments").glob("[a-z]*.py")),
    CONTRACT / "content.py",
    CONTRACT / "standing.py",
)
TESTS = (
    "test_invariants.py",
    "test_watches.py",
    "test_broken_compactors.py",
    "test_experiments.py",
    "test_checker.py",
)
IMPORTED = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
NOT_USED = 70
SECONDS = 60
"""Of processor time for the tests of one mutant, which take two or three."""
OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Mutant(NamedTuple):
    module: str
    where: str
    """Function, and what became of which expression: stays as it is when lines move."""
    number: int = 0
    """Of the place in the module."""

    @property
    def source(self):
        tree = ast.parse(_path_of(self.module).read_text())
        _places(tree)[self.number].turn()
        return ast.unparse(tree)


class Place(NamedTuple):
    function: str
    expression: ast.expr
    turn: Callable[[], ast.expr]
    """Turns the expression around and returns it; done twice, all is as before."""


def mutants():
    """Return every mutant: one comparison, `and`, `or` or bare condition turned around."""
    return [mutant for path in CODE for mutant in _mutants_of(path)]


def sample():
    """Return the numbers of a sixth of them, the same ones as long as these stay as they are."""
    every = enumerate(mutants())
    return [at for at, m in every if crc32(f"{m.module} {m.where}".encode()) % 6 == 0]


def _mutants_of(path):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for number, place in enumerate(_places(ast.parse(path.read_text()))):
        before, after = ast.unparse(place.expression), ast.unparse(place.turn())
        place.turn()
        yield Mutant(module, f"{place.function}: {before} -> {after}", number)


def _path_of(module):
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def _places(tree, function=""):
    if isinstance(tree, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{tree.name}".strip(".")
    found = []
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        found.append(Place(function, tree, partial(_turn_comparison, tree)))
    if isinstance(tree, ast.BoolOp):
        found.append(Place(function, tree, partial(_turn_operator, tree)))
    if isinstance(tree, ast.If | ast.IfExp) and not isinstance(tree.test, ast.Compare | ast.BoolOp):
        found.append(Place(function, tree.test, partial(_negate_condition, tree)))
    for child in ast.iter_child_nodes(tree):
        found += _places(child, function)
    return found


def _turn_comparison(node):
    node.ops = [OTHER[type(node.ops[0])]()]
    return node


def _turn_operator(node):
    node.op = OTHER[type(node.op)]()
    return node


def _negate_condition(node):
    is_negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    node.test = node.test.operand if is_negated else ast.UnaryOp(ast.Not(), node.test)
    return node.test


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module the source of a mutant."""

    def __init__(self, mutant):
        self.mutant = mutant

    def find_spec(self, name, path=None, target=None):
        if name != self.mutant.module:
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.mutant.source, self.mutant.module, "exec"), vars(module))

    def pytest_configure(self):
        # Here, because pytest puts a finder of its own in front, which knows this package.
        sys.meta_path.insert(0, self)


def _is_noticed(mutant):
    """Run the tests in a fork, in which nothing of the contract is imported yet."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        finder = _Finder(mutant)
        options = ["-x", "-q", "-n0", "-pno:cacheprovider", "-pno:compaction", f"-W{IMPORTED}"]
        code = pytest.main([*options, *(str(ROOT / "tests" / name) for name in TESTS)], [finder])
        is_used = not mutant.module or sys.modules[mutant.module].__loader__ is finder
        os._exit(code if is_used else NOT_USED)
    code = os.waitpid(child, 0)[1]
    if code == NOT_USED << 8:
        raise RuntimeError(f"{mutant.module} was not the mutant")
    return code != 0


def main():
    every = [*mutants(), Mutant("", "nothing is changed")]
    for number in map(int, sys.argv[1:]):
        print(number, "noticed" if _is_noticed(every[number]) else "survived", flush=True)


if __name__ == "__main__":
    main()
