"""What is built has all that it should, and works without the folder that it was built from."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# What running, testing and documenting leave in a working copy.
LEFT_BEHIND = (
    "__pycache__", ".*_cache", ".git", ".venv", ".nox", ".coverage*", "htmlcov", ".hypothesis",
    ".ipynb_checkpoints", "*.egg-info", "build", "dist", "_build", "auto_gallery", "generated",
    "jupyter_execute", "sg_execution_times.rst",
)  # fmt: skip
JUNK = (
    "docs/_build/html/index.html", "docs/auto_gallery/images/picture.png",
    "docs/reference/generated/a.rst",
    "docs/examples/__pycache__/a.cpython-311.pyc", "docs/notebooks/.ipynb_checkpoints/a.ipynb",
    "docs/sg_execution_times.rst", "tests/__pycache__/a.cpython-311.pyc",
    "tests/.mypy_cache/a.json", "benchmarks/results.csv", "sklearn_dpbo/__pycache__/a.pyc",
)  # fmt: skip
IMPORT_ALL = """
import importlib, pkgutil, sys
import sklearn_dpbo
assert sklearn_dpbo.__file__.startswith(sys.argv[1]), sklearn_dpbo.__file__
for module in pkgutil.walk_packages(sklearn_dpbo.__path__, "sklearn_dpbo."):
    print(importlib.import_module(module.name).__name__)
"""


def run(*command, cwd, **env):
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, env=os.environ | env, capture_output=True, text=True
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def clean_copy(source, folder):
    """Return a copy of what was written."""
    return shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*LEFT_BEHIND))


def files(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def built(source, target):
    """Build without a network, and return the wheel."""
    target.mkdir(exist_ok=True)
    build = ("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", target)
    run(*build, source, cwd=target)
    (wheel,) = target.glob("*.whl")
    return wheel


def missing(wheel):
    """What of the package is not in the wheel."""
    package = files(clean_copy(ROOT / "sklearn_dpbo", wheel.parent / "package"))
    assert "py.typed" in package and "audit/_events.py" in package
    with zipfile.ZipFile(wheel) as content:
        return {f"sklearn_dpbo/{name}" for name in package} - set(content.namelist())


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source distribution, unpacked, of a working copy that has been worked in."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("sdist")
    copy = clean_copy(ROOT, folder / "copy")
    for name in JUNK:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("")
    build = f"from hatchling import build; build.build_sdist({str(folder)!r})"
    run("-c", build, cwd=copy)
    (packed,) = folder.glob("*.tar.gz")
    with tarfile.open(packed) as content:
        content.extractall(folder, filter="data")
    return folder / packed.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    return built(sdist, tmp_path_factory.mktemp("wheel"))


def test_the_sdist_has_what_the_tests_need_and_no_more(sdist, tmp_path):
    found = {name for name in files(sdist) if ".egg-info/" not in name}
    written = files(clean_copy(ROOT, tmp_path / "copy"))
    folders, kinds = ("docs", "sklearn_dpbo", "tests", "benchmarks"), (".py", ".md", ".png")
    needed = {n for n in written if n.startswith(folders) and n.endswith((*kinds, ".ipynb"))}
    assert {"benchmarks/audits.py", "tests/conftest.py", "docs/figures/released.png"} <= needed
    assert needed | {"README.md", "SECURITY.md", "LICENSE", ".ci/oldest.txt"} <= found
    assert found <= written - set(JUNK) | {"PKG-INFO"}


def test_the_tests_run_from_the_sdist(sdist):
    command = ("-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider")
    listed = run(*command, "--collect-only", "tests", cwd=sdist)
    assert "tests/core/test_search.py" in listed and "tests/system/test_docs.py" in listed
    done = run(*command, "tests/system/test_docs.py", "-k", "links", cwd=sdist)
    assert "1 passed" in done


def test_the_package_index_takes_both_distributions(sdist, wheel):
    """Metadata, and the README as the project's page there."""
    pytest.importorskip("twine")
    run("-m", "twine", "check", "--strict", f"{sdist}.tar.gz", wheel, cwd=wheel.parent)
    assert wheel.stat().st_size < 1_000_000


def test_the_wheel_is_the_package(wheel):
    assert missing(wheel) == set()
    with zipfile.ZipFile(wheel) as content:
        top = {name.partition("/")[0] for name in content.namelist()}
    assert len(top) == 2 and "sklearn_dpbo" in top  # the other one is about the wheel


def test_a_build_leaves_nothing_that_a_next_one_would_pack(sdist, tmp_path):
    source = clean_copy(sdist, tmp_path / "source")
    written = files(source)
    built(source, tmp_path / "first")
    assert files(source) == written
    (source / "sklearn_dpbo" / "audit" / "_events.py").unlink()
    assert missing(built(source, tmp_path / "second")) == {"sklearn_dpbo/audit/_events.py"}


def test_the_wheel_works_by_itself(wheel, tmp_path):
    target = tmp_path / "installed"
    install = ("-m", "pip", "install", "--no-deps", "--no-index", "--target", target)
    run(*install, wheel, cwd=tmp_path)
    env = {"PYTHONPATH": str(target), "PYTHONSAFEPATH": "1"}
    (tmp_path / "import_all.py").write_text(IMPORT_ALL)
    imported = run(tmp_path / "import_all.py", target, cwd=tmp_path, **env).split()
    assert len(imported) == len(list((ROOT / "sklearn_dpbo").rglob("*.py"))) - 1

    example = shutil.copy(ROOT / "docs" / "examples" / "scans.py", tmp_path)
    assert "epsilon = 1" in run(example, cwd=tmp_path, **env)
