"""Types as somebody else's code sees them: mypy finds mistakes in it, and nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIGURATION = f"""
[mypy]
strict = True
python_version = 3.11
mypy_path = {ROOT.as_posix()}
[mypy-sklearn_dpbo.*]
follow_imports = silent
[mypy-sklearn.*,scipy.*,joblib.*,cloudpickle.*,opendp.*,cvxpy.*,threadpoolctl.*,tqdm.*]
ignore_missing_imports = True
"""
SHARED = """
from typing import assert_type

import numpy as np
from sklearn.svm import SVC

from sklearn_dpbo import (
    PrivacyLedger, PrivateBayesSearchCV, PrivateThresholdClassifier,
    make_private_scorer, plan_search,
)
from sklearn_dpbo.audit import AuditReport, audit_mechanism
from sklearn_dpbo.papers.balcan2018 import Knapsack, PiecewiseConstant, piecewise_utility
from sklearn_dpbo.papers.kharkovskii2020 import GaussianCurator, Modeler
from sklearn_dpbo.planning import SearchPlan
from sklearn_dpbo.report import PrivacyReport
from sklearn_dpbo.strategies import WorstCase

X, y = np.zeros((8, 2)), np.arange(8) % 2
search = PrivateBayesSearchCV(SVC(), {"C": [1.0]}, strategy=WorstCase("none"), epsilon=2)
ledger = PrivacyLedger("budget.db", "patients", 1.0, create=True)
"""
FINE = """
fitted = search.fit(X, y, X_val=X.copy(), y_val=y)
assert_type(fitted, PrivateBayesSearchCV)
assert_type(fitted.best_score_, float)
assert_type(fitted.best_score_interval_, tuple[float, float])
low, high = fitted.best_score_population_interval_
assert_type(high - low, float)
assert_type(fitted.privacy_, PrivacyReport)
assert_type(fitted.privacy_.epsilon, float)
search.set_params(n_iter=8).predict(X)
tuned = PrivateThresholdClassifier(SVC(), scoring=make_private_scorer("neg_log_loss"))
assert_type(tuned.fit(X, y).best_threshold_, float)
assert_type(ledger.left, dict[str, float])
ledger.charge(0.1, what="an example")
modeler = Modeler(GaussianCurator().fit_transform(X))
assert_type(modeler.ask(), int)
assert_type(piecewise_utility(Knapsack(), None, (0, 1)), PiecewiseConstant)
assert_type(audit_mechanism(len, ([], [])), AuditReport)
assert_type(plan_search(n_iter=64, epsilon=1.0, target_regret=0.02), SearchPlan)
"""
# A mistake on each line, and what mypy calls it.
MISTAKEN = """
PrivateBayesSearchCV(SVC(), {}, epsilom=1.0)  # call-arg
search.fit(X, y, X_validation=X).best_score_.lower()  # attr-defined
low, high, more = search.best_score_interval_  # misc
search.privacy_.epsilom  # attr-defined
ledger.chrage(0.1, what="an example")  # attr-defined
ledger.charge(0.1)  # call-arg
audit_mechanism(len, ([], []), n="many")  # arg-type
row: str = Modeler(X).ask()  # assignment
plan_search(epsilon="small")  # arg-type
make_private_scorer("accuracy").query.sensitivity(3)  # arg-type
"""


@pytest.mark.slow
def test_mypy_finds_what_is_wrong_in_a_users_code(tmp_path):
    pytest.importorskip("mypy", reason="no mypy: python -m pip install '.[test]'")
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    for name, text in (("fine", FINE), ("mistaken", MISTAKEN)):
        (tmp_path / f"{name}.py").write_text(SHARED + text)
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "fine.py", "mistaken.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    errors = re.findall(r"^(\w+)\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    lines = (SHARED + MISTAKEN).splitlines()
    mistakes = [(i, line.partition("  # ")[2]) for i, line in enumerate(lines, 1) if "  # " in line]
    assert len(mistakes) == 10
    assert errors == [("mistaken", str(i), code) for i, code in mistakes], done.stdout + done.stderr


def code_of(page):
    """The Python code of a page: its blocks, and what is typed in its sessions."""
    blocks = re.findall(r"```(?:python|pycon)\n(.*?)```", page.read_text(), re.DOTALL)
    typed = [re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", block, re.MULTILINE) for block in blocks]
    return "\n".join("\n".join(lines) or block for lines, block in zip(typed, blocks, strict=True))


@pytest.mark.slow
def test_code_of_the_readme_and_of_tutorials_has_no_wrong_types(tmp_path):
    """As mypy checks it by default: users annotate no notebook. Arrays are of any type."""
    pytest.importorskip("mypy", reason="no mypy: python -m pip install '.[test]'")
    names = ("X", "y", "X_train", "y_train", "X_val", "y_val")
    given = "from typing import Any\n" + "".join(f"{name}: Any\n" for name in names)
    usual = CONFIGURATION.replace("strict = True", "ignore_missing_imports = True")
    (tmp_path / "mypy.ini").write_text(usual + "[mypy-numpy.*]\nfollow_imports = skip\n")
    pages = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    for page in pages:
        (tmp_path / f"{page.stem.lower()}_page.py").write_text(given + code_of(page))
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"Success: no issues found in {len(pages)} source files" in done.stdout, done.stdout
