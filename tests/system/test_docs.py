"""Code in the documentation runs, and links lead to files."""

import doctest
import importlib
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import data_file
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from sklearn_dpbo.report._command import main

ALL_DRAWS = True
ROOT = Path(__file__).parents[2]
SERVER = "postgresql://db.example.org/budgets"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
NEEDS = {
    "clusters.md": "distributed",
    "private_learners.md": "interpret",
    "output_checkers.md": "jsonschema",
    "networks.md": "skorch",
    "neural_networks.md": "opacus",
}


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def sessions_of(page):
    return "\n".join(re.findall(r"```pycon\n(.*?)```", page.read_text(), re.DOTALL))


def longest_are_slow(pages):
    """Return the pages as parameters; those whose code takes seconds run with the slow tests."""
    long = (
        "audits.md",
        "own_table.md",
        "evaluation.md",
        "one_table.md",
        "private_learners.md",
        "one_sensitive_table.md",
        "planning.md",
        "README.md",
        "guide.md",
        "thresholds.md",
        "ledger.md",
        "clusters.md",
        "output_checkers.md",
        "first_search.md",
        "publishing.md",
        "year.md",
    )
    marks = {name: pytest.mark.slow for name in long}
    return [pytest.param(p, id=p.name, marks=marks.get(p.name, ())) for p in pages]


@pytest.fixture
def names():
    """Variables that the documentation takes for granted: data, and nothing else."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    return {
        "X": X, "y": y,
        "X_train": X[:250], "y_train": y[:250], "X_val": X[250:], "y_val": y[250:],
        "X_new": X[:3], "patient_id": np.arange(len(y) - 250) // 2,
        "patients_val": pd.DataFrame({"sex": ["f", "m", "f"], "age": [30, 70, 60]}).sample(
            len(y) - 250, replace=True, random_state=0
        ),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning")
@pytest.mark.parametrize("page", longest_are_slow(filter(blocks_of, PAGES)))
def test_python_blocks_of_documentation_run(page, names, capsys, request):
    """One after another, in one namespace; files go to a folder of their own."""
    request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name])
    for block in blocks_of(page):
        if "sklearn.callback" in block and find_spec("sklearn.callback") is None:
            continue  # before scikit-learn 1.9
        if SERVER in block:  # the last block of its page, because the fixture may skip the rest
            block = block.replace(SERVER, request.getfixturevalue("database"))
        exec(block, names)
    if page.name == "README.md":
        shown = re.search(r"```\n\n```text\n(.*?)```", page.read_text(), re.DOTALL)[1]
        numbers = r"\d[\d.e-]*"  # others, each time
        assert re.sub(numbers, "#", shown) == re.sub(numbers, "#", capsys.readouterr().out)


def test_the_page_for_output_checkers_shows_what_the_checker_prints(names, monkeypatch, capsys):
    """Its own command, on what its own code wrote."""
    page = ROOT / "docs" / "how_to" / "output_checkers.md"
    exec(blocks_of(page)[0], names)
    monkeypatch.chdir(names["folder"])
    (names["folder"] / "policy.toml").write_text(
        (ROOT / "docs" / "examples" / "policy.toml").read_text()
    )
    command = re.search(r"```sh\npython -m sklearn_dpbo.report (.*)\n```", page.read_text())[1]
    assert main(command.split()) == 0
    shown = re.search(r"```text\n(.*?)```", page.read_text(), re.DOTALL)[1]
    assert re.sub(r"\d{4}|OpenDP [\d.]+|dpbo [\d.]+", "#", capsys.readouterr().out) == re.sub(
        r"\d{4}|OpenDP [\d.]+|dpbo [\d.]+", "#", shown
    )
    table = (names["folder"] / "table2.csv").read_text().splitlines()
    (names["folder"] / "table2.csv").write_text(
        "\n".join([table[0], table[1].replace(table[1].split(",")[1], "0.123", 1), *table[2:]])
    )
    assert main(command.split()) == 1
    assert "table2.csv: row 1 (AUC) says value 0.123; it is" in capsys.readouterr().out


@pytest.mark.parametrize("page", longest_are_slow(filter(sessions_of, PAGES)))
def test_doctest_sessions_of_documentation_print_what_they_show(page, names):
    """Errors are quoted literally, apart from line breaks and what "..." leaves out."""
    for block in blocks_of(page):
        exec(block, names)
    session = doctest.DocTestParser().get_doctest(sessions_of(page), names, page.name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    result = runner.run(session, clear_globs=False)
    assert result.attempted and not result.failed


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", sorted((ROOT / "docs" / "examples").glob("*.py")), ids=lambda path: path.stem
)
def test_example_scripts_run(example, capsys, monkeypatch):
    if "FOLDER" in example.read_text():
        monkeypatch.setattr("sys.argv", [str(example), str(data_file("diabetes130.csv.gz").parent)])
    runpy.run_path(str(example), run_name="__main__")
    assert "epsilon = 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "module",
    [
        "records.fit_parameters",
        pytest.param("audit._fits", marks=pytest.mark.slow),
        "audit._mechanism",
        "audit._neighbours",
        "evaluation._private_comparison",
        "evaluation._private_evaluation",
        "papers.balcan2018._configurator",
        "papers.kusner2015._branch_and_bound",
        "papers.kusner2015._gp_noisy",
        "papers.kusner2015._unit_ball",
        "privacy.ledger._ledger",
        "papers.kharkovskii2020._modeler",
        "planning._plan",
        "metrics._make",
        "search._search",
        "search._threshold",
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning")
def test_docstring_examples_run(module):
    result = doctest.testmod(importlib.import_module(f"sklearn_dpbo.{module}"))
    assert result.attempted and not result.failed


def test_links_of_documentation_lead_to_files():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#h][^)#]*)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)


def test_docstrings_point_to_titles_of_pages_or_sections():
    titles = {
        title
        for page in PAGES
        for title in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    }
    named = r'documentation, "([^"]+)"|"([^"]+)" in the documentation'
    for file in sorted((ROOT / "sklearn_dpbo").rglob("*.py")):
        text = re.sub(r"\n *(# )?", " ", file.read_text())
        for title in map("".join, re.findall(named, text)):
            assert title.rstrip(",.") in {each.rstrip(".") for each in titles}, (file.name, title)
