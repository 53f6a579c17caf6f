"""Tests of the default suite detect planted bugs: see `mutants.toml`.

A quick test finds where each belongs; others plant it in a copy of the package. That these tests
pass with the package as it is, the default suite shows. This file is also the script of a
helper process, which imports all that others have written once, and forks.
"""

import ast
import compileall
import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.config import default_plugins

ROOT = Path(__file__).parents[2]
PASSED, FAILED = 0, 1
if __name__ == "__main__":
    MUTANTS = {}
else:
    from planting import Mutant, definitions, mutants, planted

    MUTANTS = mutants()


# ---------------------------------------------------------------- in the helper process
def main():
    """Answer requests, a line each: a package's folder, a test, and where its output goes."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for library in sorted(libraries()):
        with contextlib.suppress(ImportError):  # of those that only some have
            __import__(library)
    assert "sklearn_dpbo" not in sys.modules
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            run(*json.loads(line))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, file=answers, flush=True)


def libraries():
    """Return what the package imports, what tests do, and what pytest imports when it starts."""
    found = {"hypothesis", "pandas", "sklearn.datasets", "sklearn.ensemble", "sklearn.linear_model"}
    found |= {f"_pytest.{name}" for name in default_plugins}
    for path in (ROOT / "sklearn_dpbo").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module)
    return {name for name in found if not name.startswith("sklearn_dpbo")}


def run(package, test, said):
    """Run a test with a package; end the process with pytest's exit code."""
    output = os.open(said, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout, sys.stdin = sys.__stdout__, open(os.devnull)
    sys.path.insert(0, package)
    os.environ["PYTHONPATH"] = package
    os.chdir(ROOT)
    code = pytest.main(["-x", "-q", "-m", "", "-p", "no:cacheprovider", str(ROOT / "tests" / test)])
    sys.stdout.flush()
    os._exit(code)


# ---------------------------------------------------------------- in the tests
@pytest.fixture(scope="module")
def helper():
    """Return a function that runs a test with a package: its exit code, and what it printed."""
    # Plugins that are installed, such as xdist and Dask's, take longer to load than most tests run.
    names = ("PYTHONSAFEPATH", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "WITHOUT_SHRINKING")
    env = dict.fromkeys(names, "1")
    process = subprocess.Popen(
        [sys.executable, __file__], env={**os.environ, **env}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip

    def outcome(package, test):
        said = package / "said"
        process.stdin.write(json.dumps([str(package), test, str(said)]) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline()), said.read_text()[-3000:]

    yield outcome
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


@pytest.fixture(scope="module")
def found():
    """The definitions of the package."""
    return definitions(ROOT / "sklearn_dpbo")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A copy of the package, compiled once for all who copy it."""
    folder = tmp_path_factory.mktemp("compiled") / "sklearn_dpbo"
    shutil.copytree(ROOT / "sklearn_dpbo", folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(folder, quiet=1)
    return folder


@pytest.fixture
def write(compiled, tmp_path):
    """Return a function that copies the package, but for one file; it returns the folder."""

    def write(path, text):
        shutil.copytree(compiled, tmp_path / "sklearn_dpbo", dirs_exist_ok=True)
        file = tmp_path / path.relative_to(ROOT)
        file.write_text(text)
        for old in file.parent.glob(f"__pycache__/{file.stem}.*"):
            old.unlink()  # which may be taken for that of a text of the same length
        return tmp_path

    return write


def test_each_planted_bug_belongs_in_one_place(found):
    wrong = []
    for name, mutant in MUTANTS.items():
        try:
            planted(mutant, found)
        except ValueError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


MODULE = """
@one
@two
def f():
    def g():
        return 1
    return 2

class C:
    f = 3
    def f(self):
        return 4

def h():
    pass

A, B = 5, 6
N: int = 7
"""


@pytest.fixture
def places(tmp_path):
    for module in ("x/a.py", "y/a.py", "b.py"):
        (tmp_path / module).parent.mkdir(exist_ok=True)
        (tmp_path / module).write_text(MODULE if module == "x/a.py" else "def h():\n    pass\n")
    return definitions(tmp_path)


@pytest.mark.parametrize(
    ("where", "old"),
    [
        ("f", "@one\n@two\ndef f"), ("f.g", "        return 1\n"), ("C", "f = 3"),
        ("a:C.f", "return 4"), ("A", "5"), ("B", "5"), ("N", "7"),
        ("x.a:h", "pass"),
    ],
)  # fmt: skip
def test_a_bug_is_planted_in_the_definition_that_it_names(where, old, places):
    path, text = planted(Mutant(where, old, "new", ""), places)
    assert (path.parent.name, text) == ("x", MODULE.replace(old, "new"))


@pytest.mark.parametrize(
    ("where", "old", "why"),
    [
        ("g", "return 1", "defined 0 times"), ("h", "pass", "defined 3 times"),
        ("a:h", "pass", "defined 2 times"), ("f", "return", "2 times"),
        ("f", "return 4", "0 times"),
    ],
)  # fmt: skip
def test_a_bug_without_one_place_is_refused(where, old, why, places):
    with pytest.raises(ValueError, match=why):
        planted(Mutant(where, old, "new", ""), places)


# One in ten with the slow tests; the others take half an hour, each week.
NAMES = [
    pytest.param(name, marks=pytest.mark.soak if i % 10 else pytest.mark.slow)
    for i, name in enumerate(MUTANTS)
]


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_bug_is_detected(name, write, helper, found):
    pytest.importorskip(MUTANTS[name].needs)
    code, said = helper(write(*planted(MUTANTS[name], found)), MUTANTS[name].test)
    assert code == FAILED, said


@pytest.mark.slow
def test_the_package_that_is_tested_is_the_copy(write, helper):
    test = "core/test_sensitive.py::test_budget_refuses_charge_that_exceeds_delta"
    first = ROOT / "sklearn_dpbo" / "__init__.py"
    code, said = helper(write(first, first.read_text()), test)
    assert code == PASSED, said
    code, said = helper(write(first, "raise ImportError('the copy')"), test)
    assert code not in (PASSED, FAILED) and "the copy" in said


if __name__ == "__main__":
    main()
