"""Notebooks run from top to bottom, and install what they import."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import data_file

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
DATA_OF = {"competition": "diabetes130.csv.gz"}
COME_ALONG = {"joblib", "numpy", "scipy", "sklearn"}  # with the package


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    nbformat = pytest.importorskip("nbformat", reason="python -m pip install '.[docs]'")
    return request.param, nbformat.read(request.param, as_version=4)


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_notebooks_begin_with_the_installation_of_what_they_import(notebook):
    _, notebook = notebook
    first, *others = code_of(notebook)
    command = re.fullmatch(r"%pip install --quiet --find-links \. (.+)", first.source)
    assert command and "skip-execution" in first.metadata.tags
    text = "\n".join(cell.source for cell in others)
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE))
    missing = imported - set(sys.stdlib_module_names) - COME_ALONG - set(command[1].split())
    assert imported and not missing


def test_notebooks_are_stored_with_what_they_print(notebook):
    path, notebook = notebook
    outputs = str([cell.outputs for cell in code_of(notebook)])
    assert "image/png" in outputs and "epsilon = 1" in outputs
    assert "/tmp/" not in outputs and "Traceback" not in outputs


def kinds_of_output(notebook):
    """What each cell shows: text, errors, figures; a busy machine sends one text in two parts.

    Which warnings there are depends on noise.
    """
    return [
        {
            (output.output_type, output.get("name"))
            for output in cell.get("outputs", [])
            if output.get("name") != "stderr"
        }
        for cell in notebook.cells
    ]


@pytest.mark.slow
def test_notebooks_run(notebook, tmp_path, monkeypatch):
    client = pytest.importorskip("nbclient", reason="python -m pip install '.[docs]'")
    pytest.importorskip("ipykernel", reason="python -m pip install '.[docs]'")
    path, notebook = notebook
    if path.stem in DATA_OF:
        monkeypatch.setenv("SKLEARN_DPBO_DATA", str(data_file(DATA_OF[path.stem]).parent))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    shutil.copy(path, tmp_path)
    stored = kinds_of_output(notebook)
    client.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=tmp_path)
    assert kinds_of_output(notebook) == stored
