"""Plants the bugs of `mutants.toml`: finds a definition, whatever file of the package it is in."""

import ast
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent


class Mutant(NamedTuple):
    """A bug: in `where`, `new` instead of `old`, which occurs there once; `test` must fail then.

    The test `needs` a library that only some have.
    """

    where: str
    old: str
    new: str
    test: str
    needs: str = "sklearn"


def mutants():
    """Return the planted bugs by name; `claims.csv` has the tests of the papers' claims."""
    lines = (TESTS / "claims.csv").read_text().splitlines()[1:]
    checks = dict(line.split(",tests/") for line in lines if ",tests/" in line)
    bugs = tomllib.loads((TESTS / "mutants.toml").read_text())
    return {
        name: Mutant(**{"test": checks.get(name.removeprefix("claim ")), **bug})
        for name, bug in bugs.items()
    }


class Definition(NamedTuple):
    """Lines `first` to `last` of a file."""

    path: Path
    first: int
    last: int


def definitions(package):
    """Return lists of definitions by name, and by module, or its last parts, and name."""
    found = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        modules = [".".join(parts[i:]) for i in range(len(parts))]
        tree = ast.parse(path.read_text())
        for name, *lines in [*defined(tree), *assigned(tree)]:
            for key in (name, *(f"{module}:{name}" for module in modules)):
                found[key].append(Definition(path, *lines))
    return found


def defined(node, prefix=""):
    """Yield name, first and last line of the functions and classes within a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min(part.lineno for part in (child, *child.decorator_list))
            yield prefix + child.name, first, child.end_lineno
            yield from defined(child, f"{prefix}{child.name}.")
        else:
            yield from defined(child, prefix)


def assigned(module):
    """Yield name, first and last line of what a module assigns."""
    for node in module.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for part in (part for target in targets for part in ast.walk(target)):
                if isinstance(part, ast.Name):
                    yield part.id, node.lineno, node.end_lineno


def planted(mutant, found):
    """Return a file's path, and its text with the bug; `found` are the package's definitions."""
    where, old, new, *_ = mutant
    if len(found.get(where, ())) != 1:
        files = [str(definition.path) for definition in found.get(where, ())]
        raise ValueError(f"{where!r} is defined {len(files)} times, not once: {files}")
    path, first, last = found[where][0]
    with path.open() as file:
        lines = list(file)
    own = "".join(lines[first - 1 : last])
    if own.count(old) != 1:
        raise ValueError(f"{where!r} has {old!r} {own.count(old)} times, not once")
    return path, "".join([*lines[: first - 1], own.replace(old, new), *lines[last:]])
