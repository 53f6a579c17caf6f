"""The command line for ledgers, what notebooks show of them, and old ledgers that are converted."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import runpy
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.exceptions import LedgerError
from sklearn_dpbo.ledger._command import main
from sklearn_dpbo.ledger._old_file import convert_file

ROOT = Path(__file__).parents[2]
DAY = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
FITS = (("the best candidate and its score", "permute-and-flip, Laplace", "SVC", 0.5),
        ("a decision threshold", "permute-and-flip", "LogisticRegression", 0.25))  # fmt: skip


def opened(place, n=2, **params):
    params = {"dataset": "patients 2025", "epsilon": 2.0, "purpose": "paper"} | params
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
            status = main(["ledger", *map(str, arguments)])
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
    assert len(rows) == 2 and "2025-03-02 09:30:00  0.25" in rows[1]


def test_a_ledger_without_charges_is_shown(run, folder):
    ledger = opened("empty.ledger", 0)
    assert "charges  0" in run("show", "empty.ledger")[1]
    assert run("history", "empty.ledger")[1] == "no charges\n"
    assert run("verify", "empty.ledger")[0] == 0
    assert "charges  0" in str(ledger) and "100 % of epsilon" in ledger._repr_html_()


def test_the_commands_run_as_a_module(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sklearn_dpbo", "ledger", "show", "nowhere"])
    with pytest.raises(SystemExit) as exit:
        runpy.run_module("sklearn_dpbo", run_name="__main__")
    assert exit.value.code == 1 and "no such file" in capsys.readouterr().err


def test_a_command_stops_quietly_when_nobody_reads(folder):
    opened("patients.ledger", 30, epsilon=20.0)
    command = shlex.join([sys.executable, "-m", "sklearn_dpbo", "ledger", "history"])
    line = f"{command} patients.ledger | true; exit ${{PIPESTATUS[0]}}"
    env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as somebody else")
def test_the_right_to_read_is_enough():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder, "patients.ledger")
        opened(path)
        path.chmod(0o444)
        code = "import os, sys; from sklearn_dpbo.ledger._command import main; os.setuid(65534)\n"
        code += "sys.exit(sum(main(['ledger', c, sys.argv[1]]) for c in sys.argv[2:]))"
        command = [sys.executable, "-c", code, path, "show", "history", "verify"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0 and "is intact, up to charge 2" in done.stdout


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


def test_export_writes_csv_and_json_and_nothing_over_the_ledger(run, folder):
    ledger = opened("ledger.json")
    for out in ("out.csv", "out.json"):
        assert run("export", "ledger.json", out) == (0, "", "")
    assert Path("out.csv").read_text().count("\n") == 3
    assert json.loads(Path("out.json").read_text()) == ledger.to_dict()
    os.link("ledger.json", "other.csv")
    for out in ("ledger.json", "other.csv"):
        refused(run("export", "ledger.json", out), "file of the ledger")
    assert len(ledger.history) == 2
    assert run("export", "ledger.json", "out.txt")[0] == 2
    refused(run("export", "ledger.json", "nowhere/out.csv"), "nowhere")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "nowhere"], "no such file"),
        (["show", "."], "cannot be used"),
        (["show", "postgresql://a:b@host/db"], "password"),
        (["show", "patients.ledger", "--dataset", "others"], "is the ledger of 'patients 2025'"),
        (["verify", "patients.ledger", "nowhere.json"], "nowhere.json"),
        (["convert", "patients.ledger", "new"], "not a database"),
        (["convert", "nowhere", "new"], "No such file"),
    ],
)
def test_errors_are_one_line(run, folder, arguments, words):
    opened("patients.ledger")
    refused(run(*arguments), words)


@pytest.mark.parametrize(
    "arguments", [[], ["show"], ["look", "x"], ["history", "x", "--last", "0"], ["convert", "x"]]
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
    commands = re.findall(r"\$ python -m sklearn_dpbo (.*)\n([^$]*)", "\n".join(shown))
    assert len(commands) >= 4
    for command, expected in commands:
        _, out, err = run(*shlex.split(command)[1:])
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
    assert "███████████░░░░░░░░░ 55 % of epsilon" in html
    assert "... and 4 earlier" in text and len(text.splitlines()) == 6 + 1 + 1 + 20
    assert html.count("a decision threshold") + html.count("the best candidate") == 5


def test_a_ledger_that_cannot_be_read_has_a_repr_and_a_card(folder):
    ledger = opened("patients.ledger")
    Path("patients.ledger").unlink()
    assert repr(ledger) == "PrivacyLedger(dataset='patients 2025')"
    assert "cannot be read" in ledger._repr_html_() and str(folder) not in ledger._repr_html_()
    with pytest.raises(LedgerError, match="no such file"):
        str(ledger)


# ---------------------------------------------------------------- conversion
# What earlier versions wrote, frozen.

OLD_TABLES = (
    "CREATE TABLE main.datasets (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, worst_case_only INTEGER NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE main.charges (dataset TEXT NOT NULL, number INTEGER NOT NULL, "
    "time TEXT NOT NULL, what TEXT NOT NULL, mechanism TEXT NOT NULL, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, assumption TEXT, PRIMARY KEY (dataset, number))",
)
OLD_ID = 0x4450424F


def old_hash(previous, row):
    return hashlib.sha256(json.dumps([previous, *row]).encode()).hexdigest()


@contextlib.contextmanager
def old_file(path):
    """As earlier versions opened it: they refused what is not marked as a ledger."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA application_id").fetchone() != (OLD_ID,):
            raise sqlite3.DatabaseError("the file is not a ledger")
        yield connection
        connection.execute("COMMIT")


ROWS = [
    (1, "2024-05-01T10:00:00+00:00", "a scöre ☃", "Laplace", "1/10", "0", None),
    (2, "2024-05-02T10:00:00+00:00", 'odd "text"\n', "", "1/3", "1/1000000", "an assumption"),
    (3, "2024-05-03T10:00:00+00:00", "x" * 500, "noise", "1/" + "7" * 99, "0", None),
]
BUDGET = ("2", "1/100000", 1)


def old_ledger(path, rows=ROWS, datasets=("patients",), budget=BUDGET):
    if not path.exists():
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA application_id = {OLD_ID}")
            for statement in OLD_TABLES:
                connection.execute(statement)
    with old_file(path) as connection:
        for name in datasets:
            head = old_hash("", (name, *budget))
            for row in rows:
                head = old_hash(head, row)
                values = (name, *row)
                connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            connection.execute("INSERT INTO datasets VALUES (?, ?, ?, ?, ?)", (name, *budget, head))
    return path


def is_chargeable(path):
    """Whether an earlier version would charge it."""
    try:
        with old_file(path):
            return True
    except sqlite3.DatabaseError:
        return False


def assert_converted(path, name="patients", rows=ROWS):
    opening, entries = PrivacyLedger(path, name)._verified()
    assert opening.budget == (Fraction(2), Fraction(1, 100000), True)
    assert [(e.number, e.time, e.what, e.mechanism, *e.loss) for e in entries] == [
        (number, time, what, mechanism, Fraction(epsilon), Fraction(delta), assumption)
        for number, time, what, mechanism, epsilon, delta, assumption in rows
    ]
    if entries:
        assert entries[-1].totals.epsilon == sum(Fraction(row[4]) for row in rows)


def test_a_converted_ledger_has_all_charges_and_the_old_file_cannot_be_charged(run, folder):
    old = old_ledger(folder / "old.db")
    status, out, _ = run("convert", "old.db", "new.ledger", "--unit", "patient")
    assert status == 0 and "unit     patient" in out and "old.db is kept" in out
    assert_converted("new.ledger")
    assert not is_chargeable(old) and sorted(os.listdir()) == ["new.ledger", "old.db"]
    for new in ("new.ledger", "another.ledger"):
        refused(run("convert", "old.db", new), "converted before, to .*new.ledger")
    Path("new.ledger").rename("moved.ledger")
    refused(run("convert", "old.db", "new.ledger"), "converted before")
    assert not Path("new.ledger").exists(), "a ledger that was moved must not begin anew"


def test_one_of_several_data_sets_is_converted_at_a_time(run, folder):
    old_ledger(folder / "old.db", datasets=("a", "b"))
    refused(run("convert", "old.db", "a.ledger"), "several data sets; --dataset .*'a', 'b'")
    refused(run("convert", "old.db", "a.ledger", "--dataset", "c"), "no such data set.*'a', 'b'")
    assert is_chargeable("old.db") and os.listdir() == ["old.db"]
    out = run("convert", "old.db", "a.ledger", "--dataset", "a")[1]
    assert "other data sets to convert: 'b'" in out
    assert not is_chargeable("old.db")
    refused(run("convert", "old.db", "a.ledger", "--dataset", "b"), "a.ledger already")
    assert "too" not in run("convert", "old.db", "b.ledger", "--dataset", "b")[1]
    assert_converted("a.ledger", "a")
    assert_converted("b.ledger", "b")


def damage_row(connection):
    connection.execute("UPDATE charges SET epsilon = '1/100' WHERE number = 2")


def negative_loss(connection):
    """With a chain that fits."""
    row = (4, ROWS[0][1], "given back", "", "-1/10", "0", None)
    (head,) = connection.execute("SELECT head FROM datasets").fetchone()
    connection.execute("INSERT INTO charges VALUES ('patients', ?, ?, ?, ?, ?, ?, ?)", row)
    connection.execute("UPDATE datasets SET head = ?", (old_hash(head, row),))


@pytest.mark.parametrize(
    "change",
    [
        damage_row,
        negative_loss,
        lambda c: c.execute("DELETE FROM charges WHERE number = 3"),
        lambda c: c.execute("UPDATE datasets SET epsilon = '20'"),
        lambda c: c.execute("UPDATE datasets SET head = 3"),
        lambda c: c.execute("UPDATE charges SET what = X'ff'"),
        lambda c: c.execute("DROP TABLE charges"),
        lambda c: c.execute("PRAGMA application_id = 5"),
        lambda c: c.execute("DELETE FROM datasets"),
    ],
)
def test_what_is_damaged_or_no_ledger_is_not_converted_and_stays_as_it_is(run, folder, change):
    with old_file(old_ledger(folder / "old.db")) as connection:
        change(connection)
    before = Path("old.db").read_bytes()
    refused(run("convert", "old.db", "new.ledger"), "damaged|no such table|not a ledger|data sets")
    assert Path("old.db").read_bytes() == before and os.listdir() == ["old.db"]


def test_conversion_waits_for_those_who_charge_and_refuses_second_names(run, folder, monkeypatch):
    old = old_ledger(folder / "old.db")
    monkeypatch.setattr("sklearn_dpbo.ledger._old_file._LOCK_TIMEOUT", 0.1)
    with open(old, "rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refused(run("convert", "old.db", "new.ledger"), "locked")
    with old_file(old):
        refused(run("convert", "old.db", "new.ledger"), "locked")
    os.link(old, "second.db")
    refused(run("convert", "old.db", "new.ledger"), "hard links")
    os.unlink("second.db")
    Path("new.ledger").write_text("in use")
    refused(run("convert", "old.db", "new.ledger"), "already")
    assert Path("new.ledger").read_text() == "in use" and is_chargeable(old)


def test_a_journal_that_a_crash_left_is_rolled_back_before_the_conversion(folder):
    """The charge that it belongs to was not made."""
    old = old_ledger(folder / "old.db")
    if (child := os.fork()) == 0:
        connection = sqlite3.connect(old, isolation_level=None)
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        for number in range(100, 200):  # more pages than the cache has
            row = (number, "t", "w" * 4000, "", "1", "0", None)
            connection.execute("INSERT INTO charges VALUES ('patients', ?, ?, ?, ?, ?, ?, ?)", row)
        os._exit(0)
    os.waitpid(child, 0)
    assert Path("old.db-journal").stat().st_size, "there is one"
    convert_file(str(old), "new.ledger")
    assert_converted("new.ledger")


CALLS = ("open", "write", "fsync", "link", "unlink", "close")


def die_at(n):
    """In this process: end it without clean-up before the n-th of these calls."""
    count = iter(range(n))

    def dying(function):
        def call(*arguments, **params):
            if next(count, None) is None:
                os._exit(9)
            return function(*arguments, **params)

        return call

    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))


@pytest.mark.parametrize("committed", [False, True])
def test_a_conversion_that_is_killed_leaves_one_ledger_and_can_be_run_again(folder, committed):
    """Before each system call of its own; and between them, before the old file is marked."""
    for n in range(100):
        home = folder / str(n)
        home.mkdir()
        old, new = old_ledger(home / "old.db", ROWS[:2]), home / "new.ledger"
        if (child := os.fork()) == 0:
            die_at(n)
            if not committed:
                sqlite3.connect = kills_at_commit(sqlite3.connect)
            convert_file(str(old), str(new))
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert not (is_chargeable(old) and new.exists()), n
        if status == 0:
            break
        unit = "patient" if is_chargeable(old) else "record"
        try:
            convert_file(str(old), str(new), unit="patient")  # only if this had not begun
        except LedgerError as error:
            assert "converted before" in str(error) and new.exists()
        assert PrivacyLedger(new, "patients").unit == unit
        assert_converted(new, rows=ROWS[:2])
        assert not is_chargeable(old) and sorted(os.listdir(home)) == ["new.ledger", "old.db"]
        if status == 7:
            break
    assert status == (0 if committed else 7) and n > 5


def kills_at_commit(connect):
    class Connection(sqlite3.Connection):
        def execute(self, sql, *values):
            if sql == "COMMIT":
                os._exit(7)
            return super().execute(sql, *values)

    return lambda *args, **params: connect(*args, **params, factory=Connection)
