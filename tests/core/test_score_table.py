"""The table of a paper: a frame of numbers, with the text that is printed."""

import numpy as np
import pytest
from evaluations import Known
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo.evaluation import Estimate
from sklearn_dpbo.evaluation._base import Evaluation
from sklearn_dpbo.scoring import _intervals


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    monkeypatch.setattr(_intervals, "_N_DRAWS", 200)


def evaluated(model, X, y, n=300):
    known = Known(model.fit(X[:n], y[:n]), (X[:n], y[:n]), (X[n:], y[n:]), epsilon=1.0)
    return known.fresh(np.random.default_rng(0))


@pytest.fixture(scope="module")
def evaluation():
    return evaluated(LogisticRegression(), *make_classification(1_000, 5, random_state=0))


class Fixed(Evaluation):
    """Numbers that are known."""

    def __init__(self):
        pass

    _names = ("a", "b")

    def score(self, name, interval, threshold=0.0):
        ends = {"a": (0.8666, 0.8444, 0.9), "b": (-0.001, -np.inf, np.nan)}[name]
        return Estimate(*ends) if interval == "population" else Estimate(threshold, 0, 1)


def test_text_is_rounded_and_has_no_negative_zero():
    table = Fixed().table()
    assert table.columns.tolist() == ["value", "low", "high", "text"]
    assert table.index.tolist() == ["a", "b"] and table.index.name == "metric"
    assert table["text"].tolist() == ["0.87 (0.84 to 0.90)", "0.00 (-inf to nan)"]
    assert table.loc["a", ["value", "low", "high"]].tolist() == [0.8666, 0.8444, 0.9]
    assert Fixed().table(["a"], digits=3)["text"].tolist() == ["0.867 (0.844 to 0.900)"]


def test_rows_have_labels_and_parameters_of_their_own():
    rows = {
        "A": "a",
        "A at 20 %": ("a", {"threshold": 0.2}),
        "p": ("a", {"interval": "population"}),
    }
    table = Fixed().table(rows, interval="records")
    assert table.index.tolist() == list(rows)
    assert table["value"].tolist() == [0.0, 0.2, 0.8666]


def test_numbers_are_those_of_the_evaluation(evaluation):
    for interval in ("population", "records"):
        table, scores = evaluation.table(interval=interval), evaluation.scores(interval)
        assert table.index.tolist() == list(scores)
        for name, score in scores.items():
            assert table.loc[name, ["value", "low", "high"]].tolist() == list(score)
    with pytest.raises(ValueError, match="score takes one of"):
        evaluation.table(["auc"])


def test_a_regressor_has_a_table():
    table = evaluated(Ridge(), *make_regression(1_000, 5, noise=9, random_state=0)).table()
    assert {"r2", "mean_absolute_error"} <= set(table.index)


def test_pandas_writes_it_down(evaluation):
    table = evaluation.table(["roc_auc", "npv"])["text"].to_frame("95 % interval")
    assert all(text in table.to_html() for text in table["95 % interval"])
    pytest.importorskip("jinja2")
    latex = table.to_latex(escape=True)
    assert all(text in latex for text in table["95 % interval"])
    assert r"95 \% interval" in latex and r"roc\_auc" in latex
