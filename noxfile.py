"""What contributors run: ``nox -l`` lists the sessions, ``nox -s fast`` runs one.

Each session installs what it needs into an environment of its own, which later runs use again;
``nox -R -s fast`` does not install anew. Arguments after ``--`` go to pytest, or to the benchmark.
`.ci/run` runs these sessions: what "oldest" and "slow" mean stands here alone.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import nox

nox.options.sessions = ["lint", "fast"]
nox.options.reuse_venv = "yes"

BENCHMARKS = Path("benchmarks")
PYTEST = ("python", "-m", "pytest", "-n", "2")
OF_THE_SITE = ("tests/system/test_site.py", "tests/system/test_example_notebooks.py")
# What meets scikit-learn and other libraries; the newest versions see the rest.
OLDEST = (
    "tests/core", "tests/system/test_estimator_checks.py", "tests/system/test_other_libraries.py",
    "tests/system/test_one_table.py", "tests/system/test_threshold.py",
)  # fmt: skip
# What differs between versions of Python: frames, pickles, code that is read.
PYTHON = (
    "tests/core/test_search.py", "tests/core/test_evaluation.py", "tests/core/test_row_by_row.py",
    "tests/core/test_mechanisms.py",
)  # fmt: skip


def listed_versions() -> list[str]:
    """Return the versions of scikit-learn whose source was read for the list of estimators."""
    module = ast.parse(Path("sklearn_dpbo/prediction/listed/listed.py").read_text())
    read = next(
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "READ"
    )
    return list(ast.literal_eval(read)["scikit-learn"])


def newest_python() -> str:
    """Return the newest Python of this machine beside the one that runs nox, or its version."""
    own = "{}.{}".format(*sys.version_info)
    pyenv = Path.home() / ".pyenv" / "versions"
    versions = [version for version in ("3.14", "3.13", "3.12", "3.11") if version != own]
    for version in versions:
        for python in (f"python{version}", *map(str, pyenv.glob(f"{version}.*/bin/python"))):
            # A shim of pyenv is there for versions that are not chosen, too, and does not run.
            check = [python, "-c", "import ensurepip, sqlite3, ssl"]
            try:
                subprocess.run(check, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                continue
            return python
    return versions[0]


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff and mypy."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "mypy", "sklearn_dpbo")


@nox.session
def fast(session: nox.Session) -> None:
    """Run tests/core, in half a minute to a minute on two cores."""
    session.install("-e", ".[dev]")
    one_thread = {"OMP_NUM_THREADS": "1"}  # the two workers keep both cores busy
    session.run(*PYTEST, "tests/core", *session.posargs, env=one_thread)


@nox.session
def full(session: nox.Session) -> None:
    """Run all default tests, in one to two minutes on two cores."""
    session.install("-e", ".[test]")
    session.run(*PYTEST, "--dist", "worksteal", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the slow tests, but for those of the site."""
    session.install("-e", ".[test]")
    # Some take a minute, and most a second: a worker that is done takes from the other.
    ignored = (f"--ignore={path}" for path in OF_THE_SITE)
    options = ("--dist", "worksteal", "-m", "slow", "--durations=20")
    session.run(*PYTEST, *options, *ignored, *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """Build the site once, and run all of its tests."""
    session.install("-e", ".[test,docs]")
    all_of_them = ("-m", "slow or not slow", "-rs")
    session.run("python", "-m", "pytest", *all_of_them, *OF_THE_SITE, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run all default tests, and say which lines and branches none of them runs."""
    session.install("-e", ".[test]")
    session.run(*PYTEST, "--dist", "worksteal", "--cov", "--cov-report=term", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run, each week, what takes hours: audits of whole searches, kills, planted bugs."""
    session.install("-e", ".[test]")
    session.run(*PYTEST, "--dist", "worksteal", "-m", "soak", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Change code that privacy rests on, and say which changes no test sees: -- --sample 200."""
    session.install("-e", ".[test]")
    env = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([".", "tests"])}
    session.run("python", "-m", "mutation.run", *session.posargs, env=env)


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """Run tests with the oldest supported versions."""
    session.install("-e", ".[test]", "-c", ".ci/oldest.txt")
    session.run("python", "-m", "pip", "freeze", "--exclude-editable")
    session.run(*PYTEST, *(session.posargs or OLDEST))
    if not session.posargs:  # scikit-learn's checks, and what meets boosting and MLflow
        session.run(*PYTEST, "-m", "slow", *OLDEST[1:3])


@nox.session
@nox.parametrize("version", listed_versions())
def listed(session: nox.Session, version: str) -> None:
    """Replace records before every listed estimator, with one version of scikit-learn.

    Once each, which takes a minute; ``-- -k "replacing_any_record and sklearn"`` for all options.
    """
    session.install("-e", ".", "pandas", "pytest")
    # In a folder: all else is the same for each version, and takes longer to install.
    folder = session.create_tmp()
    alone = ("--quiet", "--upgrade", "--no-deps", "--target", folder)
    session.run("python", "-m", "pip", "install", *alone, f"scikit-learn=={version}")
    script = ("python", "-m", "pytest", "--noconftest", "-s", "-q", "-m", "slow or not slow")
    # All options are tried each week; other packages have versions of their own.
    others = "xgboost or lightgbm or catboost"
    only = ("-k", f"not replacing_any_record and not ({others})")
    env = {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
    session.run(*script, *only, "tests/core/test_listed.py", *session.posargs, env=env)


@nox.session
def networks(session: nox.Session) -> None:
    """Replace records before networks of torch, which takes gigabytes, and run the page on them."""
    session.install("-e", ".[test,networks]")
    only = ("-m", "not soak", "-k", "networks", "tests/system")
    session.run("python", "-m", "pytest", *only, *session.posargs)


@nox.session(name="newest-python", python=newest_python())
def newest(session: nox.Session) -> None:
    """Run tests with another Python: the newest of this machine."""
    session.install("-e", ".[dev]")
    session.run("python", "--version")
    session.run(*PYTEST, *(session.posargs or PYTHON))


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site in docs/_build/html."""
    session.install("-e", ".[docs]")
    build = ["python", "-m", "sphinx", "-W", "--keep-going", "-b", "html"]
    session.run(*build, "docs", "docs/_build/html")


@nox.session
def bench(session: nox.Session) -> None:
    """List the benchmarks, or run one: nox -s bench -- overhead [its arguments]."""
    if not session.posargs:
        for script in sorted(BENCHMARKS.glob("*.py")):
            summary = (ast.get_docstring(ast.parse(script.read_text())) or "").partition("\n")[0]
            print(f"{script.stem:<16} {summary}")
        return
    name, *arguments = session.posargs
    session.install("-e", ".[benchmarks]")
    session.run("python", str(BENCHMARKS / f"{name}.py"), *arguments)
