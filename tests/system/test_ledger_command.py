"""The command line for ledgers, and what notebooks show of them."""

import json
import os
import re
import runpy
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from processes import processes
from sklearn.dummy import DummyClassifier

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.exceptions import LedgerError
from sklearn_dpbo.ledger._command import main

ROOT = Path(__file__).parents[2]
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
    """Run a command; return status, stdout and stderr."""

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


# ---------------------------------------------------------------- the commands


def test_show_and_history_print_tables_and_json(run, folder):
    ledger = opened("patients.ledger", delta=1e-5)
    status, out, err = run("show", "patients.ledger")
    assert (status, err) == (0, "")
    for words in ("'patients 2025'", "unit     record", "epsilon=2, ", "spent    epsilon=0.75,",
                  "left     at least epsilon=1.25, delta=5e-06", "charges  2"):  # fmt: skip
        assert words in out
    whole = ledger.to_dict()
    history = whole.pop("history")
    assert json.loads(run("show", "patients.ledger", "--json")[1]) == whole
    assert json.loads(run("history", "patients.ledger", "--json")[1]) == history
    assert json.loads(run("history", "patients.ledger", "--json", "--last", 1)[1]) == history[1:]
    header, *rows = run("history", "patients.ledger")[1].splitlines()
    assert header.split()[:2] == ["number", "time"] and "assumption" not in header
    assert len(rows) == 2 and re.search("2025-03-02 09:30:00  0.25 .* ana", rows[1])


def test_a_ledger_without_charges_is_shown(run, folder):
    ledger = opened("empty.ledger", 0)
    assert "charges  0" in run("show", "empty.ledger")[1]
    assert run("history", "empty.ledger")[1] == "no charges\n"
    assert run("verify", "empty.ledger")[0] == 0
    assert "charges  0" in str(ledger) and "left" in ledger._repr_html_()


def test_the_commands_run_as_a_module(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sklearn_dpbo.ledger", "show", "nowhere"])
    with pytest.raises(SystemExit) as exit:
        runpy.run_module("sklearn_dpbo.ledger", run_name="__main__")
    assert exit.value.code == 1 and "no such file" in capsys.readouterr().err


def print_to_nobody(path):
    read, write = os.pipe()
    os.close(read)
    sys.stdout = open(write, "w")
    sys.exit(main(["history", path]))


def test_a_command_stops_quietly_when_nobody_reads(folder):
    ledger = opened("patients.ledger", 30, epsilon=20.0)
    process = processes.Process(target=print_to_nobody, args=(ledger.path,))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_verify_finds_reports_by_the_name_of_their_file(run, folder):
    ledger = opened("patients.ledger", 1)
    earlier = Path("patients.ledger").read_bytes()
    receipts = [ledger.charge(0.1, what="one more") for _ in range(2)]
    for i, receipt in enumerate(receipts):
        Path(f"{i}.json").write_text(json.dumps({"ledger": [receipt._asdict()]}))
    status, out, _ = run("verify", "patients.ledger", "0.json", "1.json")
    assert status == 0 and "up to charge 3" in out and "charges of 2 reports" in out
    found = json.loads(run("verify", "patients.ledger", "0.json", "--json")[1])
    assert found == {"dataset": "patients 2025", **ledger.verify()._asdict(), "reports": 1}
    Path("patients.ledger").write_bytes(earlier)
    refused(run("verify", "patients.ledger", "0.json"), "0.json: charge 2 is missing")
    model, X = DummyClassifier(), np.zeros((20, 1))
    search = PrivateBayesSearchCV(model, {"constant": [0]}, ledger=opened("2.ledger", 0), epsilon=1)
    search.fit(X, X[:, 0] + np.arange(20) % 2, X_val=X.copy(), y_val=np.arange(20) % 2)
    Path("2.json").write_text(search.privacy_.to_json())
    assert run("verify", "2.ledger", "2.json")[0] == 0
    refused(run("verify", "patients.ledger", "2.json"), "2.json: .*another one")
    for content in ("", "[", "[" * 10**5, "[1]", '{"ledger": [3]}', "{}", "\x00"):
        Path("odd.json").write_text(content)
        refused(run("verify", "patients.ledger", "odd.json"), "odd.json is no")
    Path("patients.ledger").write_bytes(earlier.replace(b"candidate", b"cantaloup"))
    for command in ("show", "history", "verify"):
        refused(run(command, "patients.ledger"), "damaged")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "nowhere"], "no such file"),
        (["show", "."], "cannot be used"),
        (["show", "postgresql://a:b@host/db"], "password"),
        (["show", "patients.ledger", "--dataset", "others"], "is the ledger of 'patients 2025'"),
        (["verify", "patients.ledger", "nowhere.json"], "nowhere.json"),
    ],
)
def test_errors_are_one_line(run, folder, arguments, words):
    opened("patients.ledger")
    refused(run(*arguments), words)


@pytest.mark.parametrize(
    "arguments", [[], ["show"], ["look", "x"], ["history", "x", "--last", "0"]]
)
def test_wrong_usage_is_status_2(run, folder, arguments):
    assert run(*arguments)[0] == 2


def test_a_server_with_several_data_sets_asks_for_one(run, database):
    opened(database, dataset="a")
    assert "'a'" in run("show", database)[1], "there is but one"
    opened(database, 1, dataset="b")
    refused(run("show", database), "--dataset. Found: 'a', 'b'")
    assert "charges  1" in run("show", database, "--dataset", "b")[1]


def test_texts_cannot_control_a_terminal_or_a_page(run, folder):
    """Analysts choose the texts, owners of the data read them."""
    ledger = opened("x.ledger", 0, dataset="<b>\x1b[2J", unit="a\nb")
    ledger.charge(0.1, what="\x1b[2J<script>", purpose="\x9b1A\u202e", estimator="\n" * 70)
    for command in ("show", "history"):
        out = run(command, "x.ledger")[1]
        assert all(line.isprintable() for line in out.splitlines())
        assert "\\x1b[2J" in out and out.count("\n") <= 6
    assert "<script>" not in ledger._repr_html_() and "<b>" not in ledger._repr_html_()
    assert "\x1b" not in ledger._repr_html_() + str(ledger)


def test_the_page_on_ledgers_shows_what_the_commands_print(run, folder):
    """Identifiers and hashes apart, which differ from ledger to ledger."""
    ledger = opened("patients.ledger", purpose="paper, section 3")
    report = {"ledger": [ledger.charge(0.5, what=FITS[0][0], mechanism=FITS[0][1], estimator="SVC",
                                       time=DAY + timedelta(days=2))._asdict()]}  # fmt: skip
    Path("report.json").write_text(json.dumps(report))
    Path("backup.ledger").write_bytes(b"".join(Path("patients.ledger").open("rb").readlines()[:3]))
    page = (ROOT / "docs/how_to/ledger.md").read_text()
    shown = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = re.findall(r"\$ python -m sklearn_dpbo.ledger (.*)\n([^$]*)", "\n".join(shown))
    assert len(commands) >= 4
    for command, expected in commands:
        _, out, err = run(*shlex.split(command))
        mask = lambda text: re.sub(r"[0-9a-f]{32,}", "#", text).split()  # noqa: E731
        assert mask(out + err) == mask(expected), command


# ---------------------------------------------------------------- notebooks


def test_html_and_print_show_what_is_left_and_the_last_charges_and_not_the_path(folder):
    ledger = opened("patients.ledger", 24, epsilon=20.0)
    html, text = ledger._repr_html_(), str(ledger)
    for shown in (html, text, repr(ledger)):
        assert "patients 2025" in shown and str(folder) not in shown
        assert "patients.ledger" not in shown
    for shown in (html, text):
        assert "epsilon=11" in shown and "a decision threshold" in shown
    assert "... and 4 earlier" in text and len(text.splitlines()) == 6 + 1 + 1 + 20


def test_a_ledger_that_cannot_be_read_has_a_repr_and_says_so_in_notebooks(folder):
    ledger = opened("patients.ledger")
    Path("patients.ledger").unlink()
    assert repr(ledger) == "PrivacyLedger(dataset='patients 2025')"
    assert "cannot be read" in ledger._repr_html_() and str(folder) not in ledger._repr_html_()
    with pytest.raises(LedgerError, match="no such file"):
        str(ledger)
