"""A released file, a table and a policy, as output checkers get them."""

import copy
import csv
import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    make_private_scorer,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.learners import PrivateLogisticRegression
from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.metrics._released import ReleasedScore, scorer_from_json, table_from_json
from sklearn_dpbo.metrics.evaluations._from_dict import read_evaluation
from sklearn_dpbo.papers.kusner2015 import GPNoisy
from sklearn_dpbo.report import PrivacyReport, check, from_dict
from sklearn_dpbo.report._command import main
from sklearn_dpbo.report._contradictions import contradictions
from sklearn_dpbo.search._released import SEARCH, THRESHOLD, _in_numbers
from sklearn_dpbo.testing import seeded_noise

pytestmark = pytest.mark.filterwarnings("ignore")
METRICS = {
    "AUC": "roc_auc",
    "Sensitivity at 20 %": ("sensitivity", {"threshold": 0.2}),
    "Specificity": "specificity",
    "Net benefit": ("net_benefit", {"threshold": 0.2}),
    "F2": ("fbeta", {"beta": 2.0}),
    "Accuracy here": ("accuracy", {"interval": "records"}),
    "O:E": "observed_expected_ratio",
}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A folder with a ledger, an evaluation that was charged to it, and the table of a paper."""
    folder = tmp_path_factory.mktemp("clinic")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    model = LogisticRegression().fit(X[:500], y[:500])
    sites = ["other"]
    while "other" in sites:  # as noise may show some, in one of forty releases
        (folder / "clinic.ledger").unlink(missing_ok=True)
        ledger = PrivacyLedger(
            folder / "clinic.ledger", "patients", epsilon=4.0, purpose="paper", create=True
        )
        evaluation = private_evaluation(
            model, X[500:], y[500:], X=X[:500], y=y[:500], epsilon=2.0, ledger=ledger,
            thresholds=[0.2], subgroups_val=np.where(X[500:, 1] > 1.4, "rare", "usual"),
            subgroups={"site": ["rare", "usual"]},
        )  # fmt: skip
        sites = evaluation.by_group("prevalence")["site"].tolist()
    (folder / "result.json").write_text(evaluation.to_json())
    evaluation.table(METRICS, by="site").to_csv(folder / "table2.csv")
    return folder, evaluation, ledger


def failed(findings):
    return [finding.rule for finding in findings if not finding.passed]


def test_a_file_and_its_table_pass_what_the_policy_allows(clinic):
    folder, _, ledger = clinic
    policy = {
        "epsilon": 2.0, "epsilon_per_dataset": 2.0, "epsilon_per_year": 2.0, "fewest_units": 1000,
        "fewest_units_per_subgroup": 30, "units": ["record"], "ledger": True,
    }  # fmt: skip
    findings = check(folder / "result.json", policy, tables=[folder / "table2.csv"], ledger=ledger)
    assert failed(findings) == []
    rules = [finding.rule for finding in findings]
    assert {*policy, "file", "guarantee", "table"} <= set(rules)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("epsilon", 1.99),
        ("epsilon_per_dataset", 1.99),
        ("epsilon_per_year", 1.99),
        ("fewest_units", 1001),
        ("fewest_units_per_subgroup", 200),
        ("units", ["group"]),
    ],
)
def test_each_rule_of_a_policy_fails_alone(rule, value, clinic):
    folder, _, ledger = clinic
    assert failed(check(folder / "result.json", {rule: value}, ledger=ledger)) == [rule]


def test_a_year_counts_its_own_charges(two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    ledger = PrivacyLedger(tmp_path / "a.ledger", "patients", epsilon=9.0, create=True)
    ledger.charge(3.0, what="last year's", time=datetime(2020, 5, 1, tzinfo=UTC))
    model = LogisticRegression().fit(X, y)
    evaluation = private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=1.0, ledger=ledger)
    (tmp_path / "a.json").write_text(evaluation.to_json())
    assert failed(check(tmp_path / "a.json", {"epsilon_per_year": 1.0}, ledger=ledger)) == []
    rules = {"epsilon_per_year": 0.9, "epsilon_per_dataset": 3.9}
    assert failed(check(tmp_path / "a.json", rules, ledger=ledger)) == list(rules)[::-1]


def test_a_release_without_a_ledger_fails_the_rules_that_need_one(two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    model = LogisticRegression().fit(X, y)
    evaluation = private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=1.0)
    (tmp_path / "a.json").write_text(evaluation.to_json())
    rules = {"ledger": True, "epsilon_per_year": 9.0, "epsilon_per_dataset": 9.0}
    assert failed(check(tmp_path / "a.json", rules)) == sorted(rules)
    ledger = PrivacyLedger(tmp_path / "a.ledger", "patients", epsilon=4.0, create=True)
    assert failed(check(tmp_path / "a.json", ledger=ledger)) == ["ledger"]


def test_seeded_noise_a_large_delta_and_an_assumption_fail_without_any_policy(
    two_classes, tmp_path
):
    X, y, X_val, y_val = two_classes
    model = LogisticRegression().fit(X, y)
    with seeded_noise(0):
        evaluation = private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=1.0)
    (tmp_path / "a.json").write_text(evaluation.to_json())
    assert failed(check(tmp_path / "a.json")) == ["guarantee"]
    estimator = PrivateLogisticRegression(bounds=(-5, 5), classes=[0, 1])
    search = PrivateTableSearchCV(estimator, epsilon=2.0, delta=0.1).fit(X, y)
    (tmp_path / "b.json").write_text(search.released_.to_json())
    assert failed(check(tmp_path / "b.json")) == ["delta_times_units"]
    assert failed(check(tmp_path / "b.json", {"delta_times_units": 16.0})) == []


def settled(record, path, value):
    """A record with another value in one place, and all that follows from it, as a forger would."""
    record = copy.deepcopy(record)
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    privacy = PrivacyReport._read(record["privacy"]).to_dict()
    if record.get("kind") in (SEARCH, THRESHOLD):
        tables = [table_from_json(table) for table in record["tables"]]
        for released in record["released_scores"]:
            query, noisy, units = tables[released["table"]]
            scorer = scorer_from_json(released, query)
            score = ReleasedScore(scorer, noisy, units, released["n_compared"], released["selects"])
            record["scores"][released["name"]] |= _in_numbers({"s": score})["s"]
        return record | {"privacy": privacy}
    made = read_evaluation(record | {"privacy": privacy}).to_dict()
    return record | {key: made[key] for key in made if key not in ("m", "unit", "format", "kind")}


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def written(rows, path):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("n_digits", [2, 4, 17])
def test_a_rounded_table_passes(n_digits, clinic, tmp_path):
    folder, evaluation, _ = clinic
    table = evaluation.table(METRICS, by="site", digits=min(n_digits, 6))
    table.round(n_digits).to_csv(tmp_path / "a.csv")
    assert failed(check(folder / "result.json", tables=[tmp_path / "a.csv"])) == []
    table[["text", "threshold", "score", "options"]].to_csv(tmp_path / "b.csv")
    assert failed(check(folder / "result.json", tables=[tmp_path / "b.csv"])) == []


def test_one_wrong_number_in_a_table_is_found(clinic, tmp_path):
    folder, evaluation, _ = clinic
    evaluation.table(METRICS, by="site").round(3).to_csv(tmp_path / "right.csv")
    rows = rows_of(tmp_path / "right.csv")
    assert len(rows) == 3 * len(METRICS)
    for i, column in [
        (0, "value"),
        (1, "low"),
        (5, "size"),
        (8, "high"),
        (9, "value"),
        (16, "low"),
    ]:
        step = 1 if column == "size" else 0.002
        wrong = rows[i] | {column: f"{float(rows[i][column]) + step:.3f}"}
        path = written([*rows[:i], wrong, *rows[i + 1 :]], tmp_path / "wrong.csv")
        (*_, finding) = check(folder / "result.json", tables=[path])
        assert not finding.passed and f"row {i + 1} ({wrong['metric']}" in finding.found


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("metric", "Precision", "it is"),
        ("score", "presicion", "presicion"),
        ("threshold", "0.5", "it is"),
        ("site", "rural", "no such subgroup"),
        ("text", "0.99 (0.98 to 1.00)", "it is 0."),
        ("options", '{"beta": 1}', "it is"),
        ("options", "{", "cannot be computed"),
        ("value", "n/a", "cannot be computed"),
        ("p-value", "0.01", "has columns that no table of this release has: ['p-value']"),
    ],
)
def test_a_table_that_names_something_else_is_found(column, value, words, clinic, tmp_path):
    folder, *_ = clinic
    rows = rows_of(folder / "table2.csv")
    at = {"options": 12, "threshold": 3}.get(column, 1)
    if column == "metric":
        rows[at] |= {"score": "precision"}
    rows = [row | {column: row.get(column, "")} for row in rows]
    path = written([*rows[:at], rows[at] | {column: value}, *rows[at + 1 :]], tmp_path / "a.csv")
    (*_, finding) = check(folder / "result.json", tables=[path])
    assert not finding.passed and words in finding.found


def test_a_label_of_two_scores_is_listed_with_each_once(clinic, tmp_path):
    folder, evaluation, _ = clinic
    tables = [
        evaluation.table({"A": ("sensitivity", {"threshold": 0.2}), "AUC": "roc_auc"}),
        evaluation.table({"A": "roc_auc", "roc_auc": "roc_auc"}),
    ]
    pd.concat([*tables, tables[0]]).fillna({"score": "roc_auc"}).to_csv(tmp_path / "a.csv")
    (*_, finding) = check(folder / "result.json", tables=[tmp_path / "a.csv"])
    meanings = "'A' is sensitivity at threshold 0.2; 'AUC' is roc_auc; 'A' is roc_auc"
    assert finding.passed and finding.found.endswith(f"counts: {meanings}")


def test_other_files_are_no_tables(clinic, tmp_path):
    folder, *_ = clinic
    for text, words in (
        ("", "is not a CSV table with a header row"),
        ("a,b\n1,2\n", "needs the column 'metric', and 'value' or 'text'"),
        ("metric\naccuracy\n", "needs the column 'metric', and 'value' or 'text'"),
        ("metric,value\naccuracy,0.9,3\n", "fewer or more cells"),
    ):
        (tmp_path / "a.csv").write_text(text)
        (*rest, finding) = check(folder / "result.json", tables=[tmp_path / "a.csv"])
        assert failed([*rest, finding]) == ["table"] and words in finding.found
    assert failed(check(folder / "result.json", tables=[tmp_path / "nowhere.csv"])) == ["table"]


def test_tables_of_regressors_comparisons_and_searches_pass(two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    models = LogisticRegression(C=0.01).fit(X, y), LogisticRegression().fit(X, y)
    own = {"scoring": ["f1", "accuracy"], "refit": "f1"}
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **own)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    released = [
        private_evaluation(Ridge().fit(X, y), X_val, y_val, X=X, y=y, epsilon=1.0),
        private_comparison(*models, X_val, y_val, X=X, y=y, epsilon=1.0),
        search.released_,
    ]
    for each in released:
        (tmp_path / "a.json").write_text(each.to_json())
        each.table().to_csv(tmp_path / "a.csv")
        assert failed(check(tmp_path / "a.json", tables=[tmp_path / "a.csv"])) == []
        each.table(interval="records", digits=3).to_csv(tmp_path / "b.csv")
        assert failed(check(tmp_path / "a.json", tables=[tmp_path / "b.csv"])) == []
    (tmp_path / "b.json").write_text(search.privacy_.to_json())
    assert failed(check(tmp_path / "b.json", tables=[tmp_path / "a.csv"])) == ["table"]


@pytest.mark.parametrize(
    "policy",
    [
        {"epsilon": -1}, {"epsilon": True}, {"epsilon": "1"}, {"units": "record"},
        {"units": ["patient"]}, {"fewest_units": 0.5}, {"ledger": 1}, {"most": 3},
    ],
)  # fmt: skip
def test_a_policy_that_is_none_is_refused(policy, clinic):
    folder, *_ = clinic
    with pytest.raises(ValueError, match="rule"):
        check(folder / "result.json", policy)


def test_the_command_line(clinic, tmp_path, capsys):
    folder, *_ = clinic
    policy = tmp_path / "policy.toml"
    policy.write_text('epsilon = 2.0\nunits = ["record"]\nledger = true\n')
    file, table = str(folder / "result.json"), str(folder / "table2.csv")
    own = ["check", file, "--policy", str(policy), "--table", table]
    assert main([*own, "--ledger", str(folder / "clinic.ledger")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == "all rules passed" and all(line.startswith("pass  ") for line in shown[:-1])
    record = json.loads(Path(file).read_text())
    record["scores"]["roc_auc"]["value"] += 0.01
    (tmp_path / "edited.json").write_text(json.dumps(record))
    assert main(["check", str(tmp_path / "edited.json")]) == 1
    assert "record.scores.roc_auc.value" in capsys.readouterr().out
    policy.write_text("epsilon = ")
    assert main(own) == 2 and "TOML" in capsys.readouterr().err
    assert main(["check", file, "--policy", "nowhere.toml"]) == 2
    assert main(["check", file, "--ledger", "nowhere.ledger"]) == 2
    capsys.readouterr()


def test_another_process_computes_the_same_numbers(clinic, tmp_path, monkeypatch):
    _, evaluation, _ = clinic
    monkeypatch.setattr(_intervals, "_N_DRAWS", 4_000)  # tests draw fewer
    _intervals.draws.cache_clear()
    (tmp_path / "a.json").write_text(evaluation.to_json())
    command = [sys.executable, "-m", "sklearn_dpbo.report", "check", str(tmp_path / "a.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    _intervals.draws.cache_clear()
    assert done.returncode == 0 and "all rules passed" in done.stdout


def test_an_edited_epsilon_is_found_by_the_ledger_and_by_the_file(clinic, tmp_path):
    folder, _, ledger = clinic
    record = json.loads((folder / "result.json").read_text())
    record["privacy"]["epsilon"] = 1.0
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert failed(check(tmp_path / "a.json")) == ["file"]  # the parts of epsilon are 2 in all
    for line in record["privacy"]["spent"]:
        line["epsilon"] /= 2
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert failed(check(tmp_path / "a.json")) == ["file"]  # so little noise costs 2
    record = settled(record, ("tables", 0, "scale"), 2 * record["tables"][0]["scale"])
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert failed(check(tmp_path / "a.json", {"epsilon": 1.0})) == []
    assert failed(check(tmp_path / "a.json", ledger=ledger)) == ["ledger"]


def test_tables_say_their_threshold(clinic):
    _, evaluation, _ = clinic
    table = evaluation.table(METRICS, by="site")
    asked = table.loc["Sensitivity at 20 %"]
    assert (asked["threshold"] == 0.2).all() and len(asked) == 3
    assert (table.loc["Specificity", "threshold"] == 0.5).all() and evaluation.threshold > 0.5
    assert table.loc["AUC", "threshold"].isna().all()
    groups = evaluation.by_group("sensitivity", by="site", threshold=0.2)
    assert groups["threshold"].eq(0.2).all()
    assert groups["value"].tolist() == asked["value"].tolist()[1:]
    together = evaluation.table(["sensitivity", "roc_auc"], by="site", threshold=0.2)
    assert together.loc["sensitivity", "value"].tolist() == asked["value"].tolist()
    benefit = table.loc[("Net benefit", "all")]
    assert benefit["text"].startswith(f"{benefit['value']:.3f}")


def test_the_ratio_of_observed_to_expected_events(clinic):
    _, evaluation, _ = clinic
    table, (means, *_) = evaluation._table(0), evaluation._known_moments()[0]
    expected = (table.sum(axis=0) * means).sum()
    value, low, high = evaluation.score("observed_expected_ratio")
    assert value == pytest.approx(table[1].sum() / expected)
    assert 0 < low < value < high < 1.5


def test_models_of_one_class_are_named_by_their_arguments(two_classes):
    X, y, X_val, y_val = two_classes
    models = LogisticRegression(C=0.01).fit(X, y), LogisticRegression().fit(X, y)
    comparison = private_comparison(*models, X_val, y_val, X=X, y=y, epsilon=1.0)
    assert comparison.model_a == "model_a (LogisticRegression)"
    assert comparison.model_b == "model_b (LogisticRegression)"


def test_a_model_that_was_fitted_on_these_records_warns(two_classes):
    X, y, X_val, y_val = two_classes
    private = PrivateLogisticRegression(bounds=(-5, 5), classes=[0, 1], epsilon=2.0)
    table = PrivateTableSearchCV(private, epsilon=2.0).fit(X_val, y_val)
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]})
    search.fit(X_val, y_val, X_val=X, y_val=y)
    public = {"X": X, "y": y, "epsilon": 1.0}
    for model in (private.fit(X_val, y_val), table, table.best_estimator_, search,
                  search.best_estimator_):  # fmt: skip
        with pytest.warns(UserWarning, match="estimator was fitted on X_val"):
            private_evaluation(model, X_val, y_val, **public)
    other = LogisticRegression().fit(X, y)
    with pytest.warns(UserWarning, match="model_b was fitted on X_val"):
        private_comparison(other, private, X_val, y_val, **public)


# ------------------------------------------------------------------ forgeries
@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """The record of a search with an evaluation, and its ledger."""
    folder = tmp_path_factory.mktemp("searched")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 3))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    ledger = PrivacyLedger(folder / "a.ledger", "patients", epsilon=9.0, create=True)
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0, 9.0]}, release="evaluation", ledger=ledger
    ).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    return json.loads(search.released_.to_json()), ledger, search


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tables", 0, "scale"), 1e-9),
        (("tables", 0, "scale"), 0.9),
        (("tables", 0, "units"), 10**6),
        (("tables", 0, "subgroups"), 10**9),
        (("design", "subgroups"), None),
        (("design", "subgroups"), {"site": ["rare", "rare"]}),
        (("privacy", "m"), 10**7),
        (("privacy", "m"), 1000.0),
        (("privacy", "m"), 0),
        (("privacy", "unit"), "group"),
        (("privacy", "epsilon"), 0.01),
        (("privacy", "epsilon"), -5.0),
        (("privacy", "delta"), -1.0),
        (("privacy", "spent"), []),
        (("privacy", "spent", 0, "epsilon"), 50.0),
        (("privacy", "spent", 0, "delta"), 0.5),
        (("privacy", "spent", 0, "assumption"), "a prior"),
        (("privacy", "noise"), "seeded with 0: for tests only"),
        (("privacy", "private"), 1),
        (("privacy", "software"), "sklearn_dpbo 1\npass  epsilon  1\nall rules passed"),
        (("kind",), ["x"]),
    ],
)
def test_an_evaluation_that_was_forged_in_one_place_fails(path, value, clinic, tmp_path):
    """With all that is computed from it, as far as it can be."""
    folder, *_ = clinic
    record = json.loads((folder / "result.json").read_text())
    try:
        record = settled(record, path, value)
    except (ValueError, TypeError, ArithmeticError, KeyError):
        place = record
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    if path[-1] in ("m", "unit") and path[0] == "privacy":
        record |= {path[-1]: value}
    (tmp_path / "a.json").write_text(json.dumps(record))
    (finding, *rest) = check(tmp_path / "a.json")
    assert (finding.rule, finding.passed, rest) == ("file", False, [])
    assert "\n" not in str(finding)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("released_scores", 0, "n_compared"), 1),
        (("released_scores", 0, "n_compared"), None),
        (("evaluation", "design", "n_compared"), 1),
        (("candidates", 1, "validated"), None),
        (("privacy", "data"), "sample"),
        (("privacy", "spent", 0, "epsilon"), 1e-9),
        (("privacy", "spent", 0, "purpose"), "training of models"),
        (("choice_counts",), "patient 17 died"),
        (("best_index",), 999),
        (("best_params",), {"C": 4.0}),
        (("candidates",), []),
        (("candidates", 0, "validated"), False),
        (("released_scores", 0, "name"), "roc_auc"),
        (("evaluation", "tables", 0, "units"), 10**6),
        (("tables", 0, "scale"), 1e-3),
        (("tables", 0, "bounds"), [0.0, 0.5]),
    ],
)
def test_a_search_that_was_forged_in_one_place_fails(path, value, searched, tmp_path):
    record, *_ = copy.deepcopy(searched[0]), None
    if path == ("tables", 0, "bounds") and record["tables"][0]["table"] != "sum of gains":
        pytest.skip("accuracy is counted by the histogram")
    if path[-1] == "name":
        record["scores"] = {"roc_auc": record["scores"].pop("accuracy")}
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    if path[0] == "released_scores" and path[-1] == "n_compared":
        record = settled(record, path, value)
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert failed(check(tmp_path / "a.json")) == ["file"]


def test_an_error_says_why_the_chosen_candidate_cannot_be_that_one(searched):
    loaded, (_, _, search) = from_dict(copy.deepcopy(searched[0])), searched
    assert not [*contradictions(loaded)]
    best = search.best_index_
    unvalidated = [
        candidate | {"validated": False} if i == best else candidate
        for i, candidate in enumerate(loaded.candidates)
    ]
    for changes, why in (
        ({"best_index_": 3}, "best_index is 3, but the file lists 3 candidates"),
        (
            {"candidates": unvalidated},
            f"best_index is {best}, but that candidate was not validated",
        ),
        ({"best_params_": {"C": 4.0}}, "that candidate does not have best_params"),
    ):
        (first, *_) = contradictions(replace(loaded, **changes))
        assert why in first


def test_a_receipt_of_something_else_fails_the_ledger(clinic, searched, tmp_path):
    folder, _, ledger = clinic
    record = json.loads((folder / "result.json").read_text())
    (receipt,) = record["privacy"]["ledger"]
    other = ledger.charge(2.0, what="more", mechanism="private_comparison, A and B")._asdict()
    for receipts in (
        [receipt, receipt],
        [other],
        [receipt | {"parts": "women"}],
        [receipt | {"mechanism": "private_evaluation, SVC"}],
        [receipt | {"charge": []}],
    ):
        record["privacy"]["ledger"] = receipts
        (tmp_path / "a.json").write_text(json.dumps(record))
        assert failed(check(tmp_path / "a.json", ledger=ledger)) == ["ledger"], receipts


def test_an_assumption_that_was_removed_fails_the_ledger(two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    ledger = PrivacyLedger(tmp_path / "a.ledger", "p", epsilon=9.0, delta=0.1, create=True)
    strategy = GPNoisy(k1=0.9, noise=0.1, prior_mean=0.8, prior_scale=0.1, length_scale=0.5)
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, delta=1e-3, strategy=strategy, ledger=ledger
    ).fit(X, y, X_val=X_val, y_val=y_val)
    (tmp_path / "a.json").write_text(search.released_.to_json())
    assert failed(check(tmp_path / "a.json", ledger=ledger)) == ["assumptions"]
    report = search.privacy_.to_dict()
    report["assumption"] = None
    for line in report["spent"]:
        line["assumption"] = None
    (tmp_path / "a.json").write_text(json.dumps(report))
    assert failed(check(tmp_path / "a.json", ledger=ledger)) == ["ledger"]


HEADER = "metric,value,low,high"


@pytest.mark.parametrize(
    "text",
    [
        "metric,value,value\naccuracy,0.99,{value:.2f}",
        HEADER + ",p-value\naccuracy,{value:.3f},{low:.3f},{high:.3f},all",
        HEADER + ",size\naccuracy,{value:.3f},{low:.3f},{high:.3f},6000",
        HEADER + ",note\naccuracy,{value:.3f},{low:.3f},{high:.3f},0.99 without outliers",
        HEADER + ",score\nroc_auc,{value:.3f},{low:.3f},{high:.3f},accuracy",
        HEADER + "\naccuracy,1,{low:.3f},{high:.3f}",
        HEADER + "\naccuracy,0E1,{low:.3f},{high:.3f}",
        HEADER + "\naccuracy,0E999,{low:.3f},{high:.3f}",
        HEADER + "\naccuracy,,{low:.3f},{high:.3f}",
        "metric,text\naccuracy,{value:.2f} ({low:.2f} to {high:.2f}); elsewhere 0.99",
        "metric,text\naccuracy,-{value:.2f} ({low:.2f} to {high:.2f})",
        "metric,text\naccuracy,\u2212{value:.2f} ({low:.2f} to {high:.2f})",
        "metric,text\naccuracy,good",
        HEADER,
        HEADER + ',note\naccuracy,{value:.3f},{low:.3f},{high:.3f},"\nroc_auc,0.99,0.98,1.0',
        "metric,value,options\naccuracy,{value:.3f}," + "[" * 10_000,
        'metric,value,options\naccuracy,{value:.3f},"{{""threshold"":1,""threshold"":0.5}}"',
        "metric,value,threshold\naccuracy,{value:.3f},0.05",
    ],
)
def test_a_table_with_a_trick_fails(text, clinic, tmp_path):
    folder, evaluation, _ = clinic
    score = evaluation.score("accuracy")._asdict()
    (tmp_path / "a.csv").write_text(text.format(**score), encoding="utf-8")
    (*_, finding) = check(folder / "result.json", tables=[tmp_path / "a.csv"])
    assert (finding.rule, finding.passed) == ("table", False)
    plain = f"{HEADER}\naccuracy," + "{value:.2f},{low:.2f},{high:.2f}".format(**score)
    (tmp_path / "a.csv").write_text(plain)
    assert failed(check(folder / "result.json", tables=[tmp_path / "a.csv"])) == []


def test_the_table_of_a_searchs_evaluation_passes_with_the_searchs_file(searched, tmp_path):
    record, ledger, search = searched
    (tmp_path / "a.json").write_text(json.dumps(record))
    search.evaluation_.table(["accuracy", "roc_auc", "prevalence"]).to_csv(tmp_path / "a.csv")
    search.released_.table().to_csv(tmp_path / "b.csv")
    tables = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert failed(check(tmp_path / "a.json", tables=tables, ledger=ledger)) == []


def test_small_combinations_of_levels_are_found(two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    model = LogisticRegression().fit(X, y)
    halves = np.arange(len(y_val)) % 2
    values = pd.DataFrame({"a": np.array(["x", "y"])[halves], "b": np.array(["p", "q"])[halves]})
    evaluation = private_evaluation(
        model, X_val, y_val, X=X, y=y, epsilon=9.0, subgroups_val=values,
        subgroups={"a": ["x", "y"], "b": ["p", "q"]},
    )  # fmt: skip
    (tmp_path / "a.json").write_text(evaluation.to_json())
    assert failed(check(tmp_path / "a.json", {"fewest_units_per_subgroup": 80})) == [
        "fewest_units_per_subgroup"
    ]
    (tmp_path / "b.json").write_text(evaluation.privacy_.to_json())
    assert failed(check(tmp_path / "b.json", {"fewest_units_per_subgroup": 1})) == [
        "fewest_units_per_subgroup"
    ]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": 2, "kind": ["x"]}', "\x00", "{"])
def test_a_hostile_file_is_a_finding(text, tmp_path, capsys):
    (tmp_path / "a.json").write_text(text)
    assert failed(check(tmp_path / "a.json")) == ["file"]
    assert main(["check", str(tmp_path / "a.json")]) == 1
    assert "FAIL  file" in capsys.readouterr().out


@pytest.mark.parametrize("levels", [{"size": ["a"]}, {"a": ["all", "b"]}, {"a": ["other"]}])
def test_names_that_tables_use_are_no_subgroups(levels, two_classes):
    X, y, X_val, y_val = two_classes
    model = LogisticRegression().fit(X, y)
    values = pd.DataFrame({name: ["a"] * len(y_val) for name in levels})
    with pytest.raises(ValueError, match="tables"):
        private_evaluation(
            model, X_val, y_val, X=X, y=y, epsilon=1.0, subgroups_val=values, subgroups=levels
        )


def test_what_the_noise_left_of_delta_and_parts_of_a_ledger_pass(two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    ledger = PrivacyLedger(
        tmp_path / "a.ledger", "p", epsilon=9.0, delta=0.1, parts=["women", "men"], create=True
    )
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, delta=1e-3, ledger=ledger.part("men")
    ).fit(X, y, X_val=X_val, y_val=y_val)
    (tmp_path / "a.json").write_text(search.released_.to_json())
    ledger.part("women").charge(2.0, what="an evaluation of the women")
    rules = {"ledger": True, "epsilon_per_dataset": 2.0, "epsilon_per_year": 2.0}
    assert failed(check(tmp_path / "a.json", rules, ledger=ledger)) == []
    rules = {"epsilon_per_dataset": 1.9, "epsilon_per_year": 1.9}
    assert failed(check(tmp_path / "a.json", rules, ledger=ledger)) == list(rules)


def test_the_evaluation_of_a_search_may_be_handed_in_alone(searched, tmp_path):
    _, ledger, search = searched
    (tmp_path / "a.json").write_text(search.evaluation_.to_json())
    assert failed(check(tmp_path / "a.json", ledger=ledger)) == []


def test_missing_intervals_may_be_blank_cells(two_classes, tmp_path):
    X, y, X_val, y_val = two_classes
    strategy = GPNoisy(k1=0.9, noise=0.1, prior_mean=0.8, prior_scale=0.1, length_scale=0.5)
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, delta=1e-3, strategy=strategy
    ).fit(X, y, X_val=X_val, y_val=y_val)
    (tmp_path / "a.json").write_text(search.released_.to_json())
    search.released_.table().drop(columns="text").to_csv(tmp_path / "a.csv")
    assert ",," in (tmp_path / "a.csv").read_text() or ",\n" in (tmp_path / "a.csv").read_text()
    found = check(tmp_path / "a.json", {"assumptions": True}, tables=[tmp_path / "a.csv"])
    assert failed(found) == []


def test_a_score_cannot_have_the_name_of_another_metric(two_classes):
    X, y, X_val, y_val = two_classes
    with pytest.raises(ValueError, match="another name"):
        make_private_scorer(f1, bounds=(0, 1))
    for scoring in ({"roc_auc": "accuracy"}, {"f1": make_private_scorer(_own, bounds=(0, 1))}):
        search = PrivateBayesSearchCV(LogisticRegression(), {"C": [1.0]}, scoring=scoring)
        with pytest.raises(ValueError, match="give it another name"):
            search.set_params(refit=next(iter(scoring))).fit(X, y, X_val=X_val, y_val=y_val)


def f1(y, labels):
    return np.ones(len(y))


def _own(y, labels):
    return np.ones(len(y))
