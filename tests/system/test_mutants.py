"""Tests of the default suite detect planted bugs: see `mutants.py`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import MUTANTS

ROOT = Path(__file__).parents[2]
PASSED, FAILED = 0, 1


def outcome(package, *tests):
    """Run tests with a copy of the package; return the exit code of pytest, and what it says."""
    command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
    paths = [str(ROOT / "tests" / test) for test in tests]
    env = {"PYTHONPATH": str(package), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, *paths], cwd=ROOT, env=os.environ | env, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout[-3000:]


@pytest.fixture
def copy(tmp_path):
    """A folder with a copy of the package."""
    shutil.copytree(
        ROOT / "sklearn_dpbo",
        tmp_path / "sklearn_dpbo",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return tmp_path


@pytest.mark.slow
def test_the_package_as_it_is_passes(copy):
    code, said = outcome(copy, *{mutant.test for mutant in MUTANTS.values()})
    assert code == PASSED, said


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_detected(name, copy):
    file, old, new, test = MUTANTS[name]
    path = copy / "sklearn_dpbo" / file
    text = path.read_text()
    assert text.count(old) == 1, f"{file} has changed: plant this bug where it belongs now"
    path.write_text(text.replace(old, new))
    code, said = outcome(copy, test)
    assert code == FAILED, said
