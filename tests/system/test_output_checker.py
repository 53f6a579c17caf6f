"""A released file, a table and a policy, as output checkers get them."""

import csv
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.learners import PrivateLogisticRegression
from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.report import check
from sklearn_dpbo.report._command import main
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
    ledger = PrivacyLedger(
        folder / "clinic.ledger", "patients", epsilon=4.0, purpose="paper", create=True
    )
    evaluation = private_evaluation(
        model, X[500:], y[500:], X=X[:500], y=y[:500], epsilon=2.0, ledger=ledger,
        thresholds=[0.2], subgroups_val=np.where(X[500:, 1] > 1.6, "rare", "usual"),
        subgroups={"site": ["rare", "usual"]},
    )  # fmt: skip
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
    assert set(policy) <= set(rules) and {"file", "guarantee", "receipts", "table"} <= set(rules)


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
    assert failed(check(tmp_path / "a.json", rules)) == list(rules)[:1] + [
        "epsilon_per_dataset", "epsilon_per_year",
    ]  # fmt: skip
    ledger = PrivacyLedger(tmp_path / "a.ledger", "patients", epsilon=4.0, create=True)
    assert failed(check(tmp_path / "a.json", ledger=ledger)) == ["receipts"]


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
        ("text", "0.99 (0.98 to 1.00)", "its value is"),
        ("options", '{"beta": 1}', "it is"),
        ("options", "{", "cannot be computed"),
        ("value", "n/a", "cannot be computed"),
    ],
)
def test_a_table_that_names_something_else_is_found(column, value, words, clinic, tmp_path):
    folder, *_ = clinic
    rows = rows_of(folder / "table2.csv")
    at = {"options": 12, "threshold": 3}.get(column, 1)
    if column == "metric":
        rows[at] |= {"score": "precision"}
    path = written([*rows[:at], rows[at] | {column: value}, *rows[at + 1 :]], tmp_path / "a.csv")
    (*_, finding) = check(folder / "result.json", tables=[path])
    assert not finding.passed and words in finding.found


def test_other_files_are_no_tables(clinic, tmp_path):
    folder, *_ = clinic
    for text in ("", "a,b\n1,2\n", "metric\naccuracy\n", "metric,value\naccuracy,0.9,3\n"):
        (tmp_path / "a.csv").write_text(text)
        assert failed(check(folder / "result.json", tables=[tmp_path / "a.csv"])) == ["table"]
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
        each.table(interval="records", digits=1).to_csv(tmp_path / "b.csv")
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
    assert failed(check(tmp_path / "a.json", {"epsilon": 1.0})) == []
    assert failed(check(tmp_path / "a.json", ledger=ledger)) == ["receipts"]


def test_tables_say_their_threshold(clinic):
    _, evaluation, _ = clinic
    table = evaluation.table(METRICS, by="site")
    asked = table.loc["Sensitivity at 20 %"]
    assert (asked["threshold"] == 0.2).all() and len(asked) == 3
    assert (table.loc["Specificity", "threshold"] == evaluation.threshold).all()
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
    assert 0 < low < 1 < high < 1.5


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
