"""The folders are the architecture: imports point one way, and zones are kept apart."""

import ast
import dataclasses
import importlib
import io
import json
import re
import runpy
import tokenize
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sklearn_dpbo

PACKAGE = Path(sklearn_dpbo.__file__).parent
# The parts of the package, in the order in which data flow through them: each imports from those
# before it only.
LAYERS = (
    "exceptions", "privacy", "ledger", "testing", "records", "metrics", "scoring",
    "learners", "prediction", "evaluation", "search", "strategies", "papers", "audit", "plotting",
    "planning", "report",
)  # fmt: skip
# The lines of code that a reader has to believe, exactly, so that none are added unnoticed: if they
# become more, say in the commit what the growth buys.
TRUSTED_LINES = 4_966
# Beside what is believed: where charges are kept, and what is said of them.
BESIDE = "privacy.ledger", "privacy.report"
WITHOUT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
ZONES = ("public", "sensitive", "boundary", "released")
# Modules that read a clock. How long something takes may depend on protected records.
CLOCKS = {
    "prediction.fitting": "how long a fit on public rows takes",
    "prediction.rehearsal": "how long predictions of public rows take",
    "search._explore": "when to end an exploration, before protected records are predicted",
    "learners._base": "when a fit begins, before it reads records",
    "privacy.ledger._budget": "the time of a charge",
    "privacy.ledger._ledger": "the time of a charge that names none; when a ledger was made",
    "privacy.ledger._file": "how long to wait for a lock",
}
TELLS_TIME = {"time", "timeit", "now", "utcnow", "today", "times", "getrusage"}


def part_of(module: str) -> str:
    """The part of the package that a module (dotted, from the package on) belongs to."""
    return module.split(".")[0]


@cache
def nodes_of(text: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(text)))


@cache
def imports_of(module: str, text: str, *, is_package: bool = False) -> set[str]:
    """The package's modules that a module imports, relatively or absolutely, anywhere in it."""
    found = set()
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found |= {
                n.removeprefix("sklearn_dpbo.") for n in names if n.startswith("sklearn_dpbo.")
            }
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                parents = module.split(".") if is_package else module.split(".")[:-1]
                base = parents[: len(parents) - node.level + 1] + base
            elif base[:1] == ["sklearn_dpbo"]:
                base = base[1:]
            else:
                continue
            names = [".".join([*base, alias.name]) for alias in node.names]
            found |= {name for name in names if name}
    return found


@cache
def modules() -> dict[str, Path]:
    """All modules but the package's own `__init__`, by dotted name."""
    named = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        named[".".join(p for p in parts if p != "__init__")] = path
    return {name: path for name, path in named.items() if name}


def upward_imports(module: str, text: str, *, is_package: bool = False) -> list[str]:
    """What a module imports from its own part's users: from a later layer."""
    here = LAYERS.index(part_of(module))
    imported = imports_of(module, text, is_package=is_package)
    return [name for name in imported if LAYERS.index(part_of(name)) > here]


@cache
def zone_of(module: str, path: Path) -> str:
    docstring = ast.get_docstring(nodes_of(path.read_text())[0])
    found = re.search(r"\(zone: (\w+)\)", docstring or "")
    assert found, f"{module} does not say its zone: its docstring ends with (zone: ...)"
    return found[1]


def test_every_part_has_a_place_in_the_order():
    assert {part_of(module) for module in modules()} == set(LAYERS)


def test_no_part_imports_a_later_one():
    for module, path in modules().items():
        is_package = path.name == "__init__.py"
        found = upward_imports(module, path.read_text(), is_package=is_package)
        assert not found, f"{module} imports {found}, which come later"


@pytest.mark.parametrize(
    "planted",
    [
        "from ..search import PrivateBayesSearchCV",
        "from .. import search",
        "from sklearn_dpbo.search import PrivateBayesSearchCV",
        "from sklearn_dpbo import search",
        "import sklearn_dpbo.search",
        "def late():\n    from ..strategies._base import Release",
    ],
)
def test_an_upward_import_is_found(planted):
    assert upward_imports("records.split", planted)
    assert not upward_imports(
        "records.split", "from ..exceptions import PrivacyWarning\nimport numpy"
    )


def test_neither_the_core_nor_its_tests_name_the_papers():
    whole = {"test_architecture.py", "test_waist.py"}  # of the whole package
    here = [path for path in Path(__file__).parent.glob("*.py") if path.name not in whole]
    core = [path for module, path in modules().items() if part_of(module) != "papers"]
    assert not [path for path in core + here if re.search(r"\bpapers\.", path.read_text())]


def test_no_public_module_imports_a_sensitive_one():
    zones = {module: zone_of(module, path) for module, path in modules().items()}
    assert set(zones.values()) == set(ZONES)
    for module, path in modules().items():
        if zones[module] != "public":
            continue
        for name in imports_of(module, path.read_text(), is_package=path.name == "__init__.py"):
            # A name may be a module, or something in one.
            target = name if name in zones else name.rpartition(".")[0]
            assert zones.get(target) != "sensitive", f"{module} (public) imports {target}"


def code_lines(text: str) -> int:
    """Count lines that hold anything but comments and docstrings."""
    docstrings = set()
    for node in nodes_of(text):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = [range(t.start[0], t.end[0] + 1) for t in tokens if t.type not in WITHOUT_CODE]
    return len(set().union(*lines) - docstrings)


def with_imports(trusted: set[str]) -> set[str]:
    """Add all modules of the package that these import, and so on."""
    named = modules()
    while True:
        imported = set()
        for name in trusted:
            is_package = named[name].name == "__init__.py"
            targets = imports_of(name, named[name].read_text(), is_package=is_package)
            imported |= {t if t in named else t.rpartition(".")[0] for t in targets} & named.keys()
        if imported <= trusted:
            return trusted
        trusted |= imported


def test_what_has_to_be_believed_stays_small():
    """What counts protected records, and what says how much noise it gets, with all imports."""
    trusted = {
        module for module, path in modules().items()
        if (part_of(module) == "privacy" and not module.startswith(BESIDE))
        or (part_of(module) == "prediction" and zone_of(module, path) == "sensitive")
    }  # fmt: skip
    size = sum(code_lines(modules()[name].read_text()) for name in with_imports(trusted))
    assert size == TRUSTED_LINES, f"{size} lines: simplify, or say what the growth buys"


def test_a_reviewer_reads_few_lines_and_the_page_tells_how_many():
    """That charges come before draws, and nothing protected is readable, rests on these files."""
    page = (PACKAGE.parent / "docs" / "project" / "reviewers_hour.md").read_text()
    named = dict(re.findall(r"\| `([a-z_/]+)\.py` \((\d+)\)", page))
    found = {name: code_lines((PACKAGE / f"{name}.py").read_text()) for name in named}
    assert {name: int(told) for name, told in named.items()} == found
    assert f"\n{sum(found.values())} lines of code" in page and 500 < sum(found.values()) <= 900


def test_what_is_released_looks_at_no_records_and_at_no_surrogate():
    for module, path in modules().items():
        if part_of(module) == "plotting" or module.startswith("privacy.report"):
            parts = {part_of(name) for name in imports_of(module, path.read_text())}
            assert not parts & {"prediction", "records", "papers"}, module


def users_of(*names) -> set[str]:
    """Modules in which one of these names is imported, or an attribute."""
    found = set()
    for module, path in modules().items():
        nodes = nodes_of(path.read_text())
        seen = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
        seen |= {
            alias.name.split(".")[0]
            for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)
            for alias in n.names
        }  # fmt: skip
        if seen & set(names):
            found.add(module)
    return found


def test_one_module_opens_what_is_sensitive_and_one_imports_the_noise_library():
    assert users_of("_open") == {"privacy.mechanisms"}
    assert users_of("opendp") == {"privacy.noise"}


def test_one_module_finds_the_line_that_a_warning_names():
    texts = {module: path.read_text() for module, path in modules().items()}
    texts.pop("testing")  # called by contextlib, which is outside the package
    assert [module for module, text in texts.items() if "stacklevel" in text] == ["privacy.warn"]
    assert [m for m, text in texts.items() if "warnings.warn(" in text] == ["privacy.warn"]


def reads_a_clock(text: str) -> bool:
    """Whether a module imports a clock, or asks anything for the present time."""
    for node in nodes_of(text):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {getattr(node, "module", None), *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            names = {node.attr} - {"time"}  # charges have a time, too
        else:
            names = {getattr(node, "value", None)} & {"now", "today"}  # np.datetime64("now")
        if names & TELLS_TIME:
            return True
    return False


@pytest.mark.parametrize(
    "planted",
    [
        "import time", "import timeit as t", "from time import perf_counter",
        "from os import times",
        "from datetime import datetime\ndatetime.now()", "import os\nos.times()",
        "np.datetime64('now')", "pd.Timestamp.today()",
    ],
)  # fmt: skip
def test_a_module_that_reads_a_clock_is_found(planted):
    assert reads_a_clock(planted)
    assert not reads_a_clock("from datetime import datetime\ndef f(t: datetime):\n  t.time")


def test_few_modules_read_a_clock():
    found = {module for module, path in modules().items() if reads_a_clock(path.read_text())}
    assert found == CLOCKS.keys()


def test_nothing_is_asserted():
    """`python -O` leaves assertions out: what must hold is checked, and raises."""
    for module, path in modules().items():
        lines = [n.lineno for n in nodes_of(path.read_text()) if isinstance(n, ast.Assert)]
        assert not lines, f"{module} asserts in lines {lines}: raise an error, or use typing.cast"


def holds_arrays(kind) -> bool:
    """Whether values of this type may be, or hold, arrays or tables: as anything may."""
    origin = typing.get_origin(kind)
    if kind is typing.Any or np.ndarray in (kind, origin):
        return True
    held = () if origin in (Callable, type) else typing.get_args(kind)
    return any(map(holds_arrays, held))


def dataclasses_of(module) -> list[type]:
    found = vars(importlib.import_module(f"sklearn_dpbo.{module}")).values()
    return [c for c in found if isinstance(c, type) and dataclasses.is_dataclass(c)]


def test_no_dataclass_compares_arrays_as_if_they_were_single_values():
    """The generated `__eq__` of such a class raises, or is wrong for a table."""
    for module in modules().keys() - {"ledger.__main__"}:
        for kind in dataclasses_of(module):
            types = typing.get_type_hints(kind)
            held = [f.name for f in dataclasses.fields(kind) if holds_arrays(types[f.name])]
            assert not (held and kind.__dataclass_params__.eq), f"{kind} has {held}: use eq=False"


def test_few_modules_compute_in_secret():
    outside = {
        module for module in users_of("measured")
        if not module.startswith(("papers.kusner2015", "privacy"))
    }  # fmt: skip
    assert outside == {"papers.balcan2018._configurator", "prediction.record_owner"}


@pytest.mark.slow
def test_the_picture_in_the_documentation_shows_todays_imports():
    image = pytest.importorskip("PIL.Image", reason="no Pillow: it comes with matplotlib")
    folder = PACKAGE.parent / "docs" / "figures"
    script = runpy.run_path(str(folder / "architecture.py"))
    graph = script["reduced"](script["imports"]())
    drawn = json.loads(image.open(folder / "architecture.png").text["Description"])
    assert drawn == {part: sorted(others) for part, others in graph.items()}, (
        "run: python docs/figures/architecture.py"
    )


def test_the_page_for_contributors_names_tests_near_each_module():
    """By folder, or by name; and each test file that it names is there."""
    root = PACKAGE.parent
    page = (root / "docs" / "project" / "architecture.md").read_text()
    table = page.partition("## Which tests are near")[2].partition("\n## ")[0]
    near = set()
    for changed, tests in re.findall(r"^\| (`.*`) \| (`.*`) \|$", table, re.MULTILINE):
        folder = PACKAGE
        for name in re.findall("`(.*?)`", changed):
            folder = (PACKAGE / name).parent if "/" in name else folder
            path = PACKAGE / name if "/" in name else folder / name
            near |= set(path.glob("*.py")) if name.endswith("/") else {path}
        assert all((root / "tests" / name).is_file() for name in re.findall("`(.*?)`", tests))
    public_paths = [PACKAGE / name for name in ("ledger", "scoring", "strategies")]
    modules = {path for path in PACKAGE.rglob("*.py") if path.parent not in public_paths}
    named = {path for path in near if path.name != "__init__.py"}
    assert named == {path for path in modules if path.name != "__init__.py"}
