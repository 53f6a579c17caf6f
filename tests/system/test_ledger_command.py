"""The command line for ledgers, and what `print` shows of them."""

import json
import re
import runpy
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.exceptions import LedgerError
from sklearn_dpbo.privacy.ledger._command import main

DAY = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
FITS = (("the best candidate and its score", "permute-and-flip, Laplace", "SVC", 0.5),
        ("a decision threshold", "permute-and-flip", "LogisticRegression", 0.25))  # fmt: skip


def opened(place, n=2, **params):
    params = {"dataset": "patients 2025", "epsilon": 2.0, "purpose": "paper", "who": "ana"} | params
    ledger = PrivacyLedger(place, **params, create=True)
    for i in range(n):
        what, mechanism, estimator, epsilon = FITS[i % len(FITS)]
        time = DAY + timedelta(days=i)
        ledger.charge(epsilon, what=what, mechanism=mechanism, estimator=estimator, time=time)
    return ledger


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command; return status, stdout and stderr."""

    def run(*arguments):
        try:
            status = main(list(map(str, arguments)))
        except SystemExit as exit:
            status = exit.code
        return status, *capsys.readouterr()

    return run


def refused(result, words):
    status, out, err = result
    assert (status, out) == (1, "") and re.search(words, err)
    assert err.startswith("error: ") and err.count("\n") == 1, "one line"


def test_the_command_shows_the_budget_and_all_charges(run, folder):
    opened("patients.ledger", 22, epsilon=20.0, delta=1e-5)
    status, out, err = run("patients.ledger")
    assert (status, err) == (0, "")
    for words in ("'patients 2025'", "unit     record", "epsilon=20, ", "spent    epsilon=8.25,",
                  "left     epsilon=11.75, delta=1e-05", "charges  22"):  # fmt: skip
        assert words in out
    header, *rows = out.splitlines()[6:28]
    assert header.split()[:2] == ["number", "time"] and "assumption" not in header
    assert re.search("2025-03-02 09:30:00  0.25 .* ana", rows[1])
    opened("empty.ledger", 0)
    assert "charges  0" in run("empty.ledger")[1]


def test_the_command_runs_as_a_module(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sklearn_dpbo.ledger", "nowhere"])
    with pytest.raises(SystemExit) as exit:
        runpy.run_module("sklearn_dpbo.ledger", run_name="__main__")
    assert exit.value.code == 1 and "no such file" in capsys.readouterr().err


def test_reports_are_found_by_the_name_of_their_file(run, folder):
    ledger = opened("patients.ledger", 1)
    earlier = Path("patients.ledger").read_bytes()
    claim = {"epsilon": 0.09999999999999999, "delta": 0.0, "unit": "record", "assumption": None}
    receipt = ledger.charge(0.1, what="more")._asdict()
    Path("0.json").write_text(json.dumps({"ledger": [receipt], **claim}))
    status, out, _ = run("patients.ledger", "0.json")
    told = "with the charges, epsilon, delta, unit, mechanism and purpose of 1 report(s)"
    assert status == 0 and f"up to charge 2, {told}" in out
    assert ledger.verify().head in out
    Path("patients.ledger").write_bytes(earlier)
    refused(run("patients.ledger", "0.json"), "0.json: charge 2 is missing")
    model, X = DummyClassifier(), np.zeros((20, 1))
    search = PrivateBayesSearchCV(model, {"constant": [0]}, ledger=opened("2.ledger", 0), epsilon=1)
    search.fit(X, X[:, 0] + np.arange(20) % 2, X_val=X.copy(), y_val=np.arange(20) % 2)
    Path("2.json").write_text(search.privacy_.to_json())
    assert run("2.ledger", "2.json")[0] == 0
    Path("3.json").write_text(json.dumps({"privacy": search.privacy_.to_dict()}))  # evaluation's
    assert run("2.ledger", "3.json")[0] == 0
    refused(run("patients.ledger", "2.json"), "2.json: .*another one")
    right = search.privacy_.to_dict()
    edits = [
        ("epsilon", 0.5),
        ("epsilon", None),
        ("epsilon", True),
        ("delta", 1e-9),
        ("unit", "group"),
    ]
    for field, other in edits:
        Path("4.json").write_text(json.dumps(right | {field: other}))
        refused(run("2.ledger", "4.json"), f"4.json: it says {field}={other!r}; charge 1 was made")
    Path("4.json").write_text(json.dumps(right | {"epsilon": 0.5, "privacy": right}))
    refused(run("2.ledger", "4.json"), "it says epsilon=0.5")
    Path("4.json").write_text('{"epsilon": 0.5, ' + json.dumps(right)[1:])
    refused(run("2.ledger", "4.json"), "4.json is not the report")
    (receipt,) = right["ledger"]
    for field in ("mechanism", "purpose"):
        Path("4.json").write_text(json.dumps(right | {"ledger": [receipt | {field: "other"}]}))
        refused(run("2.ledger", "4.json"), f"4.json: it says {field}='other'; charge 1 was made")
    for charge in (0, -1, True, 1.0, "1", None):
        Path("4.json").write_text(json.dumps(right | {"ledger": [receipt | {"charge": charge}]}))
        refused(run("2.ledger", "4.json"), f"no charge has the number {charge!r}")
    Path("4.json").write_text(json.dumps(right | {"ledger": [receipt, receipt]}))
    refused(run("2.ledger", "4.json"), "4.json is not the report")
    for content in ("", "[", "[" * 10**5, "[1]", '{"ledger": [3]}', '{"privacy": 1}', "{}", "\x00"):
        Path("odd.json").write_text(content)
        refused(run("patients.ledger", "odd.json"), "odd.json is not the report")
    Path("patients.ledger").write_bytes(earlier.replace(b"candidate", b"cantaloup"))
    refused(run("patients.ledger"), "damaged")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "no such file"),
        (["."], "cannot be used"),
        (["postgresql://a:b@host/db"], "password"),
        (["postgresql://host/db"], "--dataset NAME"),
        (["patients.ledger", "--dataset", "others"], "is the ledger of 'patients 2025'"),
        (["patients.ledger", "nowhere.json"], "nowhere.json"),
    ],
)
def test_errors_are_one_line(run, folder, arguments, words):
    opened("patients.ledger")
    refused(run(*arguments), words)


def test_wrong_usage_is_status_2(run, folder):
    assert run()[0] == 2


def test_the_data_set_of_a_server_is_named(run, database):
    opened(database, dataset="a")
    opened(database, 1, dataset="b")
    assert "charges  1" in run(database, "--dataset", "b")[1]


def test_texts_cannot_control_a_terminal(run, folder):
    """Analysts choose the texts, owners of the data read them."""
    ledger = opened("x.ledger", 0, dataset="<b>\x1b[2J", unit="a\nb")
    ledger.charge(0.1, what="\x1b[2J", purpose="\x9b1A\u202e", estimator="\n" * 70)
    out = run("x.ledger")[1]
    assert all(line.isprintable() for line in out.splitlines())
    assert "\\x1b[2J" in out and out.count("\n") <= 11 and "\x1b" not in str(ledger)


def test_print_shows_what_is_left_and_the_last_charges_and_not_the_path(folder):
    ledger = opened("patients.ledger", 24, epsilon=20.0)
    for shown in (text := str(ledger), repr(ledger)):
        assert "patients 2025" in shown and "patients.ledger" not in shown
    assert "epsilon=11" in text and "a decision threshold" in text
    assert "... and 4 earlier" in text and len(text.splitlines()) == 6 + 1 + 1 + 20
    Path("patients.ledger").unlink()
    assert repr(ledger) == "PrivacyLedger(dataset='patients 2025')"
    with pytest.raises(LedgerError, match="no such file"):
        str(ledger)
