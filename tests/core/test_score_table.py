"""The table of a paper: a frame of numbers, with the text that is printed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from evaluations import Known
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import private_evaluation
from sklearn_dpbo.evaluation import Estimate
from sklearn_dpbo.metrics.evaluations._base import Evaluation


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

    def score(self, name, interval="population", threshold=0.0):
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


@pytest.mark.slow
def test_rows_by_subgroup_follow_those_of_all_records():
    X, y = make_classification(1_600, 5, flip_y=0.1, random_state=0)
    values = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(1_300) % 2], "age": 20.0})
    values.loc[np.arange(1_300) % 20 == 0, "age"] = 80.0
    levels = {"sex": ["f", "m"], "age": [(18, 65), (65, 120)]}
    evaluation = private_evaluation(
        LogisticRegression().fit(X[:300], y[:300]), X[300:], y[300:], X=X[:300], y=y[:300],
        epsilon=20.0, subgroups_val=values, subgroups=levels,
    )  # fmt: skip
    rows = {"AUC": "roc_auc", "NPV": ("npv", {"threshold": 0.4})}
    table = evaluation.table(rows, by="sex")
    sexes = ["all", *evaluation.by_group("roc_auc", by="sex")["sex"]]
    assert table.index.tolist() == [(r, sex) for r in rows for sex in sexes]
    facts = ["threshold", "score", "size", "note", "text"]
    assert table.columns.tolist() == ["value", "low", "high", *facts]
    assert table.index.names == ["metric", "sex"] and table.loc[("AUC", "all"), "size"] == 1_300
    for sex, own in evaluation.by_group("npv", by="sex", threshold=0.4).set_index("sex").iterrows():
        row = table.loc[("NPV", sex)].drop(["text", "score"])
        assert row.tolist() == own[row.index].tolist()
    assert table.loc[("AUC", "all"), "value"] == evaluation.score("roc_auc").value
    both = evaluation.table(["roc_auc", "calibration_slope"], by=True)
    assert both.index.names == ["metric", "sex", "age"]
    few = both.loc[("roc_auc", "f", "[65, 120)")]
    assert few["text"].endswith("), too few to tell") == (few["high"] - few["low"] > 0.2)
    assert both["text"].str.match(r"\S+ \(\S+ to \S+\)").all()
    assert both["text"].str.endswith("tell").any() and not both["text"].iloc[0].endswith("tell")
    slope = both.loc[("calibration_slope", "all", "all")]
    assert 0.2 < slope["high"] - slope["low"] < 1 and slope["text"].startswith(f"{slope.value:.2f}")


def test_a_regressor_has_a_table():
    table = evaluated(Ridge(), *make_regression(1_000, 5, noise=9, random_state=0)).table()
    assert {"r2", "mean_absolute_error"} <= set(table.index)
    clipped = table["note"].str.contains("counted as")
    assert clipped[["r2", "mean_absolute_error"]].all() and not clipped["median_absolute_error"]


def test_wrong_names_and_thresholds_are_said(evaluation):
    with pytest.raises(ValueError, match="found 'roc_aux'; did you mean 'roc_auc'"):
        evaluation.score("roc_aux")
    with pytest.raises(ValueError, match="depends on no treshold"):
        evaluation.table({"Sensitivity": ("sensitivity", {"treshold": 0.2})})
    for name in ("sensitivity", "net_benefit", "selection_rate"):
        with pytest.raises(ValueError, match="a probability, from 0 to 1; found 20"):
            evaluation.score(name, threshold=20)


def test_another_threshold_than_asked_for_is_said(evaluation):
    edge = evaluation.thresholds[np.diff(evaluation.thresholds).argmax()]
    with pytest.warns(UserWarning, match=r"pass thresholds=\[.*\] to private_evaluation"):
        evaluation.table({"Sensitivity": ("sensitivity", {"threshold": edge + 0.006})})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluation.score("sensitivity", threshold=edge + 0.004)
        evaluation.confusion_matrix(threshold=edge)
