"""Records of what was released, for output checkers: a JSON Schema describes them all."""

import json
from importlib.resources import files

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.learners import PrivateLogisticRegression
from sklearn_dpbo.papers.balcan2018 import Knapsack, KnapsackItems, PrivateConfigurator
from sklearn_dpbo.testing import seeded_noise

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads((files("sklearn_dpbo.report") / "disclosure.schema.json").read_text())
GRID = {"C": [0.1, 1.0]}
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
        LogisticRegression(), GRID, epsilon=1.0, scoring=["accuracy", "f1"], refit="f1"
    )
    return search.fit(X, y, X_val=X_val, y_val=y_val, groups_val=np.arange(150) // 2).privacy_


def of_evaluated_search(X, y, X_val, y_val):
    search = PrivateBayesSearchCV(LogisticRegression(), GRID, release="evaluation")
    return search.fit(X, y, X_val=X_val, y_val=y_val).evaluation_


def of_table(X, y, X_val, y_val):
    estimator = PrivateLogisticRegression(bounds=(-5, 5), classes=[0, 1])
    search = PrivateTableSearchCV(estimator, GRID, epsilon=2.0, delta=1e-6)
    return search.fit(X, y).privacy_


def of_learner(X, y, X_val, y_val):
    return PrivateLogisticRegression(bounds=(-5, 5), classes=[0, 1], epsilon=2.0).fit(X, y).privacy_


def of_threshold(X, y, X_val, y_val):
    tuner = PrivateThresholdClassifier(LogisticRegression(), epsilon=1.0, thresholds=64)
    return tuner.fit(X, y, X_val=X_val, y_val=y_val).privacy_


def of_two_classes(X, y, X_val, y_val):
    model = LogisticRegression().fit(X, y)
    return private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=1.0)


def of_three_classes(X, y, X_val, y_val):
    y, y_val = (np.array(["a", "b", "c"])[y + (x[:, 0] > 0)] for x, y in ((X, y), (X_val, y_val)))
    return of_two_classes(X, y, X_val, y_val)


def of_regressor(X, y, X_val, y_val):  # R2 has no lower end
    model = Ridge().fit(X, y)
    return private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=0.01)


def of_comparison(X, y, X_val, y_val):
    weak, usual = LogisticRegression(C=0.01).fit(X, y), LogisticRegression().fit(X, y)
    return private_comparison(weak, usual, X_val, y_val, X=X, y=y, epsilon=1.0)


def of_instances(X, y, X_val, y_val):
    configurator = PrivateConfigurator(Knapsack(), epsilon=1.0, utility_bound=3.0)
    return configurator.fit(knapsacks(9)).privacy_


RELEASES = [of_search, of_search_of_several_scores, of_evaluated_search, of_table, of_learner,
            of_threshold, of_two_classes, of_three_classes, of_regressor, of_comparison,
            of_instances]  # fmt: skip


@pytest.mark.first(3)
@pytest.mark.parametrize("release", RELEASES)
def test_the_record_of_every_release_is_what_the_schema_describes(release, two_classes):
    record = json.loads(release(*two_classes).to_json())
    assert errors(record) == [] and record["format"] == 1
    assert record.get("privacy", record)["private"]


def test_unknown_and_missing_keys_are_refused(two_classes, tmp_path):
    ledger = PrivacyLedger(tmp_path / "a.ledger", "patients", epsilon=2.0, create=True)
    report = of_search(*two_classes, ledger).to_dict()
    evaluation = of_two_classes(*two_classes).to_dict()
    assert len(report["ledger"]) == 1 and errors(report) == errors(evaluation) == []
    for record in (report, evaluation):
        for key in record:
            assert errors({k: v for k, v in record.items() if k != key}), key
        assert errors(record | {"raw_score": 0.9}) and errors(record | {"format": 2})
    for key in ("ledger", "spent"):
        (first, *_) = report[key]
        assert errors(report | {key: [first | {"more": 1}]}), key
    score = {"accuracy": evaluation["scores"]["accuracy"] | {"exact": 0.9}}
    assert errors(evaluation | {"scores": score})
    assert errors(evaluation | {"privacy": report | {"more": 1}})


def test_a_record_without_a_guarantee_has_no_epsilon(two_classes):
    with seeded_noise(0):
        record = of_search(*two_classes).to_dict()
    assert errors(record) == [] and record["epsilon"] is None
    for promise in ({"epsilon": 1.0}, {"delta": 0.0}, {"private": True}, {"warning": None}):
        assert errors(record | promise), promise


def test_every_field_says_what_it_is():
    for name in ("report", "evaluation", "spent", "receipt"):
        for key, field in SCHEMA["$defs"][name]["properties"].items():
            of = field.get("$ref", "").rpartition("/")[2]
            assert "description" in field | SCHEMA["$defs"].get(of, {}), (name, key)
