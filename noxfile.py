"""What contributors run: ``nox -l`` lists the sessions, ``nox -s fast`` runs one.

Each session installs what it needs into an environment of its own, which later runs use again;
``nox -R -s fast`` does not install anew. Arguments after ``--`` go to pytest, or to the benchmark.
"""

import ast
from pathlib import Path

import nox

nox.options.sessions = ["lint", "fast"]
nox.options.reuse_venv = "yes"

BENCHMARKS = Path("benchmarks")
PYTEST = ("python", "-m", "pytest", "-n", "2")


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff and mypy."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "mypy", "sklearn_dpbo")


@nox.session
def fast(session: nox.Session) -> None:
    """Run tests/core, in about a minute on two cores."""
    session.install("-e", ".[dev]")
    one_thread = {"OMP_NUM_THREADS": "1"}  # the two workers keep both cores busy
    session.run(*PYTEST, "tests/core", *session.posargs, env=one_thread)


@nox.session
def full(session: nox.Session) -> None:
    """Run all default tests."""
    session.install("-e", ".[test]")
    session.run(*PYTEST, *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the slow tests, which build the distributions and the site."""
    session.install("-e", ".[test,docs]")
    session.run(*PYTEST, "-m", "slow", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run, before a release, what takes hours: audits of whole searches, kills, odd inputs."""
    session.install("-e", ".[test]")
    session.run(*PYTEST, "-m", "soak", *session.posargs)


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """Run all default tests with the oldest supported versions."""
    session.install("-e", ".[test]", "-c", ".ci/oldest.txt")
    session.run(*PYTEST, *session.posargs)


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
