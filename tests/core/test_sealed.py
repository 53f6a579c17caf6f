"""No learner can read its records once they are coded, and a fit keeps what was released alone."""

import ast
import inspect
import traceback
import typing
import warnings
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import sklearn_dpbo
from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
    _base,
    _records,
)
from sklearn_dpbo.learners._rows import Rows
from sklearn_dpbo.privacy.ledger import _budget
from sklearn_dpbo.privacy.mechanisms import Mechanisms
from sklearn_dpbo.privacy.sensitive import Secret

pytestmark = pytest.mark.usefixtures("seeded")

FOLDER = Path(sklearn_dpbo.__file__).parent / "learners"
TREES = {path.stem: ast.parse(path.read_text()) for path in FOLDER.glob("*.py")}
SEALED = (_records.Records, _records.Columns, _records.Gradients)


# ------------------------------------------------------------------------- how it is written
def computing(tree):
    """Yield the calls that compute with what is sealed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("then", "measured", "gathered"):
            yield node


def is_plain(given, functions):
    """Whether this is the name of a function, perhaps with arguments that have names."""
    if isinstance(given, ast.Call):
        named = isinstance(given.func, ast.Name) and given.func.id == "partial"
        values = [each.value for each in given.keywords]
        if not named or len(given.args) != 1 or not all(isinstance(v, ast.Name) for v in values):
            return False
        (given,) = given.args
    return isinstance(given, ast.Name) and given.id in functions


def misplaced(tree, functions=()):
    """Return what computes with something sealed by more than a function of these."""
    called = {id(n.func): n.args for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return [
        ast.unparse(node) for node in computing(tree)
        if not all(is_plain(each, functions) for each in called.get(id(node), [None]))
    ]  # fmt: skip


def test_one_module_computes_with_records_and_by_functions_that_belong_to_no_object():
    """They can leave nothing behind: neither in a learner, nor in a global name."""
    assert [name for name, tree in TREES.items() if [*computing(tree)]] == ["_records"]
    functions = {
        name for name, own in vars(_records).items()
        if (inspect.isfunction(own) or inspect.isclass(own)) and own.__qualname__ == name
    }  # fmt: skip
    assert not misplaced(TREES["_records"], functions)
    for name, tree in TREES.items():
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.Global | ast.Nonlocal)], name


@pytest.mark.parametrize(
    "planted",
    [
        "self._rows.then(lambda rows: rows)",
        "self._rows.then(self.keep)",
        "self._rows.then(learner.keep)",
        "self._rows.then(partial(self.keep, d=d))",
        "self._rows.then(partial(f, keep=self.keep))",
        "self._rows.then(partial(f, self.keep))",
        "self._rows.then(partial(f, keep=lambda rows: rows))",
        "self._rows.measured(print, 1)",
        "then = self._rows.then",
    ],
)
def test_other_functions_are_found(planted):
    assert misplaced(ast.parse(planted), {"f"})
    assert not misplaced(ast.parse("self._rows.then(f), self._rows.then(partial(f, d=d))"), {"f"})


@pytest.mark.parametrize("kind", SEALED)
def test_methods_take_no_functions_and_return_what_is_sealed(kind):
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        types = typing.get_type_hints(method)
        returned = types.pop("return")
        assert returned in (Secret, *SEALED) or name == "__init__", name
        assert not {typing.Any, partial} & {*types.values()} and "Callable" not in str(types), name


# ------------------------------------------------------------------------- what it does
LEARNERS = {
    "classifier": PrivateClassifier(classes=[0, 1], max_iter=2, n_trees=4, random_state=0),
    "regressor": PrivateRegressor(max_iter=2, n_trees=4, random_state=0),
    "logistic": PrivateLogisticRegression(classes=[0, 1], max_iter=2),
    "ridge": PrivateRidge(y_bounds=(0, 1)),
}


@pytest.fixture
def same_releases(monkeypatch):
    """Let all fits release what the first one does without noise."""
    path = []

    def tables(self, price, sensitivities, **record):
        position = iter(range(price.n))

        def release(sealed):
            table, i = sealed._open(), next(position)
            if len(path) == i:
                path.append(sorted(table) if isinstance(table, dict) else table)
            return path[i].copy()

        return release

    monkeypatch.setattr(Mechanisms, "tables", tables)


def kept(learner, seed, grouped):
    """Return all that is left of a fit on random records, and its warnings."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 10 + seed, 60), "ward": rng.choice([*"ab"], 60)})
    frame["code"] = rng.integers(0, 5 + seed, 60)
    frame.loc[rng.random(60) < 0.2 * seed, "age"] = np.nan
    groups = rng.permutation(np.arange(60) // 3) if grouped else None
    model = clone(learner).set_params(categories={"ward": ["a", "b"], "code": "frequent"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(frame, (rng.random(60) < 0.3 + 0.4 * seed).astype(int), groups)
    left = {**vars(model), "privacy_": model.privacy_.details()}
    said = [str(each.message) for each in caught if "fit number" not in str(each.message)]
    return {name: joblib.hash(value) for name, value in left.items()}, said


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_keeps_and_says_what_follows_from_its_releases_alone(name, grouped, same_releases):
    """Whatever the records are."""
    assert kept(LEARNERS[name], 0, grouped) == kept(LEARNERS[name], 1, grouped)


CARELESS = {
    "count": lambda rows: int((rows > 0.9).sum()),
    "sum": lambda rows: float(rows),
    "an array": lambda rows: np.asarray(rows).sum(),
    "its length": lambda rows: len(rows),
    "a copy": lambda rows: clone(rows, safe=False),
    "one of it": lambda rows: rows[0],
    "whether": lambda rows: 1 if rows else 0,
}


@pytest.mark.parametrize("line", CARELESS.values(), ids=CARELESS)
def test_a_line_that_reads_records_raises(line):
    class Careless(PrivateRidge):
        def _release(self, records):
            for sealed in (records._rows, records.columns({}, False, None)._rows):
                with pytest.raises(TypeError, match="cannot be read"):
                    self.n_high_ = line(sealed)
            super()._release(records)

    X = np.arange(20.0)[:, None]
    assert not hasattr(Careless(y_bounds=(0, 1)).fit(X, np.arange(20) % 2), "n_high_")


def test_a_charge_bears_a_time_that_no_record_can_move(monkeypatch, tmp_path):
    """How long it takes to code records depends on them: a charge that told would reveal it."""
    times = iter([datetime(2030, 1, 1, tzinfo=UTC), *[datetime(2031, 1, 1, tzinfo=UTC)] * 9])
    clock = SimpleNamespace(now=lambda zone: next(times))
    for module in (_base, _budget):
        monkeypatch.setattr(module, "datetime", clock)
    ledger = PrivacyLedger(tmp_path / "ledger", "patients", epsilon=1.0, delta=1e-3, create=True)
    coded = PrivateRidge._coded
    monkeypatch.setattr(PrivateRidge, "_coded", lambda *a, **k: [next(times), coded(*a, **k)][1])
    PrivateRidge(y_bounds=(0, 1), ledger=ledger).fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    assert ledger.history[-1]["time"].startswith("2030")


def test_an_error_while_computing_with_records_shows_none(monkeypatch):
    """As a debugger would show the variables of its frames."""

    def fails(rows, pairs):
        raise RuntimeError("a bug")

    monkeypatch.setattr(_records, "size_counts", fails)
    with pytest.raises(RuntimeError, match="a computation with protected records") as caught:
        PrivateRidge(y_bounds=(0, 1)).fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    frames = [frame for frame, _ in traceback.walk_tb(caught.tb)]
    assert "_scale" in {frame.f_code.co_name for frame in frames}
    held = [value for frame in frames for value in frame.f_locals.values()]
    assert not [value for value in held if isinstance(value, Rows)]
    assert "rows" not in {name for frame in frames for name in frame.f_locals}
