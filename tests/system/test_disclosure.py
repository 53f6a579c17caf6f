"""Records of what was released, for output checkers: a JSON Schema describes them all."""

import copy
import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.learners import PrivateLogisticRegression
from sklearn_dpbo.papers.balcan2018 import Knapsack, KnapsackItems, PrivateConfigurator
from sklearn_dpbo.papers.kusner2015 import GPNoisy
from sklearn_dpbo.report import from_dict, load
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.testing import seeded_noise

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads((files("sklearn_dpbo.report") / "disclosure.schema.json").read_text())
GRID = {"C": [0.1, 1.0]}
GAIN = make_private_scorer(lambda y, response: -abs(y - response), bounds=(-2, 0))
pytestmark = pytest.mark.filterwarnings("ignore")


def errors(record):
    """What the schema says against a record."""
    return [e.message for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(record)]


def knapsacks(n):
    rng = np.random.default_rng(0)
    return [KnapsackItems(rng.uniform(size=3), rng.uniform(0.1, 1, 3), 1.0) for _ in range(n)]


def of_search(X, y, X_val, y_val, ledger=None):
    search = PrivateBayesSearchCV(LogisticRegression(), GRID, epsilon=1.0, ledger=ledger)
    return search.fit(X, y, X_val=X_val, y_val=y_val).privacy_


def of_search_of_several_scores(X, y, X_val, y_val):
    search = PrivateBayesSearchCV(
        LogisticRegression(), GRID, epsilon=1.0, scoring=["accuracy", "f1", "roc_auc"], refit="f1"
    )
    return search.fit(X, y, X_val=X_val, y_val=y_val, groups_val=np.arange(150) // 2).released_


def of_search_of_all_scores(X, y, X_val, y_val):
    grid = {"solver": ["lbfgs", "liblinear"], "penalty": ["l2"], "max_iter": [99]}
    search = PrivateBayesSearchCV(LogisticRegression(), grid, scoring="f1", release="all")
    return search.fit(X, y, X_val=X_val, y_val=y_val).released_


def of_search_by_a_loss(X, y, X_val, y_val):
    search = PrivateBayesSearchCV(Ridge(), {"alpha": [1.0, 9.0]}, scoring=["r2", GAIN], refit="r2")
    return search.fit(X, y, X_val=X_val, y_val=y_val).released_


def of_search_with_a_candidate_that_fails(X, y, X_val, y_val):
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [-1.0, 0.1, 1.0]})
    return search.fit(X, y, X_val=X_val, y_val=y_val).released_


def of_search_without_a_score(X, y, X_val, y_val):
    strategy = WorstCase(score_share=0)
    search = PrivateBayesSearchCV(LogisticRegression(), GRID, strategy=strategy)
    return search.fit(X, y, X_val=X_val, y_val=y_val).released_


def of_a_paper(X, y, X_val, y_val):
    strategy = GPNoisy(k1=0.9, noise=0.1, prior_mean=0.8, prior_scale=0.1, length_scale=0.5)
    search = PrivateBayesSearchCV(LogisticRegression(), GRID, delta=1e-3, strategy=strategy)
    return search.fit(X, y, X_val=X_val, y_val=y_val).released_


def of_evaluated_search(X, y, X_val, y_val):
    search = PrivateBayesSearchCV(LogisticRegression(), GRID, release="evaluation")
    return search.fit(X, y, X_val=X_val, y_val=y_val).released_


def of_table(X, y, X_val, y_val):
    estimator = PrivateLogisticRegression(bounds=(-5, 5), classes=[0, 1])
    search = PrivateTableSearchCV(estimator, GRID, epsilon=2.0, delta=1e-6)
    return search.fit(X, y).released_


def of_learner(X, y, X_val, y_val):
    return PrivateLogisticRegression(bounds=(-5, 5), classes=[0, 1], epsilon=2.0).fit(X, y).privacy_


def of_threshold(X, y, X_val, y_val):
    tuner = PrivateThresholdClassifier(LogisticRegression(), epsilon=1.0, thresholds=64)
    return tuner.fit(X, y, X_val=X_val, y_val=y_val).released_


def of_subgroups(X, y, X_val, y_val):
    model = LogisticRegression().fit(X, y)
    levels = {"age": [(-9, 0), (0, np.inf)], "sex": ["f", "m"]}
    sexes = np.where(X_val[:, 1] > 0, "f", "m")
    values = pd.DataFrame({"age": X_val[:, 0], "sex": sexes})
    return private_evaluation(
        model, X_val, y_val, X=X, y=y, epsilon=4.0, thresholds=[0.2], subgroups_val=values,
        subgroups=levels,
    )  # fmt: skip


def of_two_classes(X, y, X_val, y_val):
    model = LogisticRegression().fit(X, y)
    return private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=1.0)


def of_three_classes(X, y, X_val, y_val):
    y, y_val = (np.array(["a", "b", "c"])[y + (x[:, 0] > 0)] for x, y in ((X, y), (X_val, y_val)))
    return of_two_classes(X, y, X_val, y_val)


def of_regressor(X, y, X_val, y_val):  # R2 has no lower end
    model = Ridge().fit(X, y)
    return private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=0.01)


def of_comparison_at_thresholds(X, y, X_val, y_val):
    models = LogisticRegression(C=0.01).fit(X, y), LogisticRegression().fit(X, y)
    own = {"thresholds": [0.3, 0.3], "scoring": "f1"}
    return private_comparison(*models, X_val, y_val, X=X, y=y, epsilon=1.0, **own)


def of_comparison(X, y, X_val, y_val):
    weak, usual = LogisticRegression(C=0.01).fit(X, y), LogisticRegression().fit(X, y)
    return private_comparison(weak, usual, X_val, y_val, X=X, y=y, epsilon=1.0)


def of_instances(X, y, X_val, y_val):
    configurator = PrivateConfigurator(Knapsack(), epsilon=1.0, utility_bound=3.0)
    return configurator.fit(knapsacks(9)).privacy_


RELEASES = [of_search, of_search_of_several_scores, of_search_of_all_scores, of_search_by_a_loss,
            of_search_with_a_candidate_that_fails, of_search_without_a_score,
            of_a_paper, of_evaluated_search, of_table, of_learner,
            of_threshold, of_subgroups, of_two_classes, of_three_classes, of_regressor,
            of_comparison, of_comparison_at_thresholds, of_instances]  # fmt: skip


@pytest.mark.first(3)
@pytest.mark.parametrize("release", RELEASES)
def test_the_record_of_every_release_is_what_the_schema_describes(release, two_classes):
    record = json.loads(release(*two_classes).to_json())
    assert errors(record) == [] and record["format"] == 2
    assert record.get("privacy", record)["private"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_file_gives_the_same_object_back(release, two_classes, tmp_path):
    released = release(*two_classes)
    (tmp_path / "a.json").write_text(released.to_json())
    found = load(tmp_path / "a.json")
    assert type(found) is type(released)
    assert (repr(found), str(found)) == (repr(released), str(released))
    assert found.to_json() == released.to_json() and found._repr_html_() == released._repr_html_()
    if hasattr(found, "table") and released.scores():
        pd.testing.assert_frame_equal(found.table(), released.table())
        assert found.scores("records") == released.scores("records")


def test_a_file_gives_the_same_figures_and_subgroups_back(two_classes):
    released = of_subgroups(*two_classes)
    found = from_dict(json.loads(released.to_json()))
    metrics = ["sensitivity", "net_benefit", "calibration_slope", "observed_expected_ratio"]
    tables = [each.table(metrics, by=True, threshold=0.2) for each in (found, released)]
    pd.testing.assert_frame_equal(*tables)
    for curve in ("roc_curve", "precision_recall_curve", "calibration_curve", "decision_curve"):
        for ours, theirs in zip(getattr(found, curve)(), getattr(released, curve)(), strict=True):
            assert_array_equal(ours, theirs)
    differences = [each.group_differences("recall", by="sex") for each in (found, released)]
    pd.testing.assert_frame_equal(*differences)


def test_a_loaded_search_has_the_attributes_of_the_search(two_classes):
    X, y, X_val, y_val = two_classes
    scorers = {"own": make_private_scorer("f1"), "accuracy": "accuracy"}
    search = PrivateBayesSearchCV(
        LogisticRegression(), GRID, scoring=scorers, refit="own", release="evaluation"
    ).fit(X, y, X_val=X_val, y_val=y_val)
    found = from_dict(json.loads(search.released_.to_json()))
    for name in ("best_params_", "best_index_", "best_score_", "best_score_interval_",
                 "best_score_population_interval_"):  # fmt: skip
        assert getattr(found, name) == getattr(search, name), name
    assert found.scores().keys() == search.best_scores_.keys()
    assert repr(found.evaluation_) == repr(search.evaluation_)
    assert [each["params"] for each in found.candidates] == search.cv_results_["params"]


def test_gaussian_noise_stays_gaussian_in_a_file(two_classes):
    X, y, X_val, y_val = two_classes
    grid = {"C": [0.1 * 2**k for k in range(12)]}
    search = PrivateBayesSearchCV(LogisticRegression(), grid, delta=1e-3, release="all", n_iter=12)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    (table, *_) = search.released_.to_dict()["tables"]
    assert table["noise"] == "discrete Gaussian"
    found = from_dict(json.loads(search.released_.to_json()))
    assert found.scores("records") == search.released_.scores("records")


def changed(record, path, value):
    """A copy of a record in which one place says something else."""
    record = copy.deepcopy(record)
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return record


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scores", "accuracy", "value"), 0.99),
        (("scores", "accuracy", "records_low"), 0.5),
        (("scores", "recall"), None),
        (("confusion_matrix", "value", 0, 0), 3),
        (("tables", 0, "counts", 3), 999),
        (("tables", 0, "counts"), [1, 2]),
        (("tables", 0, "scale"), 0.0),
        (("tables", 0, "units"), 149),
        (("tables", 0, "table"), "histogram"),
        (("tables", 0, "edges"), []),
        (("design", "n_compared"), 2),
        (("simulation", "seed_of_noise"), 1),
        (("m",), 1500),
        (("unit",), "group"),
        (("kind",), "evaluation"),
        (("format",), 1),
        (("privacy", "epsilon"), 0.5),
        (("privacy", "weak"), "not at all"),
        (("privacy", "spent", 0, "share"), 0.5),
        (("privacy", "spent", 0, "times"), 10**12),
        (("privacy", "private"), False),
        (("privacy", "neighbours"), "none"),
        (("more",), 1),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(path, value, two_classes):
    record = json.loads(of_two_classes(*two_classes).to_json())
    with pytest.raises(ValueError, match=r"record|privacy|format|times|table|counts"):
        from_dict(changed(record, path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scores", "f1", "high"), 0.5),
        (("candidates", 0, "scores", "f1", "value"), 0.99),
        (("released_scores", 0, "candidate"), 1),
        (("best_index",), 7),
        (("privacy", "ledger"), [{"ledger": "a"}]),
    ],
)
def test_a_search_that_contradicts_itself_is_refused(path, value, two_classes, seeded):
    record = json.loads(of_search_of_all_scores(*two_classes).to_json())
    if path[-1] == "candidate":
        value = 1 - record["released_scores"][0]["candidate"]
    with pytest.raises(ValueError, match="record|privacy report"):
        from_dict(changed(record, path, value))


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"format": 2}', '{"format": 2, "kind": 3}',
                                  '{"format": 2, "format": 2}', "NaN"])  # fmt: skip
def test_what_is_no_record_is_refused(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"."):
        load(tmp_path / "a.json")


def test_unknown_and_missing_keys_are_refused(two_classes, tmp_path):
    ledger = PrivacyLedger(tmp_path / "a.ledger", "patients", epsilon=2.0, create=True)
    report = of_search(*two_classes, ledger).to_dict()
    evaluation = of_two_classes(*two_classes).to_dict()
    search = of_search_of_all_scores(*two_classes).to_dict()
    assert len(report["ledger"]) == 1
    assert errors(report) == errors(evaluation) == errors(search) == []
    for record in (report, evaluation, search):
        for key in record:
            assert errors({k: v for k, v in record.items() if k != key}), key
        assert errors(record | {"raw_score": 0.9}) and errors(record | {"format": 1})
    for key in ("ledger", "spent"):
        (first, *_) = report[key]
        assert errors(report | {key: [first | {"more": 1}]}), key
    score = {"accuracy": evaluation["scores"]["accuracy"] | {"exact": 0.9}}
    assert errors(evaluation | {"scores": score})
    assert errors(evaluation | {"privacy": report | {"more": 1}})
    (table,) = evaluation["tables"]
    for key in table:
        assert errors(evaluation | {"tables": [{k: v for k, v in table.items() if k != key}]}), key
    assert errors(evaluation | {"tables": [table | {"raw_counts": [1]}]})


def test_a_record_without_a_guarantee_has_no_epsilon(two_classes):
    with seeded_noise(0):
        record = of_search(*two_classes).to_dict()
    assert errors(record) == [] and record["epsilon"] is None
    for promise in ({"epsilon": 1.0}, {"delta": 0.0}, {"private": True}, {"warning": None}):
        assert errors(record | promise), promise


def test_every_field_says_what_it_is():
    for name in ("report", "evaluation", "spent", "receipt", "search", "scorer"):
        for key, field in SCHEMA["$defs"][name]["properties"].items():
            of = field.get("$ref", "").rpartition("/")[2]
            assert "description" in field | SCHEMA["$defs"].get(of, {}), (name, key)
