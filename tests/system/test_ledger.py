"""Privacy ledgers: sums, concurrent charges, crashes, damage, and charges by estimators."""

import contextlib
import copy
import fcntl
import json
import os
import pickle
import tempfile
import threading
import time
import uuid
from decimal import Decimal
from fractions import Fraction
from getpass import getuser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgresql import lines_at, replace_lines
from processes import processes
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV, PrivateThresholdClassifier
from sklearn_dpbo.exceptions import (
    BudgetExceededError,
    LedgerError,
)
from sklearn_dpbo.papers.balcan2018 import Knapsack, KnapsackItems, PrivateConfigurator
from sklearn_dpbo.papers.kharkovskii2020 import GaussianCurator
from sklearn_dpbo.privacy import mechanisms
from sklearn_dpbo.privacy.ledger._decimal import parse_decimal, round_down_decimal
from sklearn_dpbo.privacy.ledger._entries import Entry, Loss, Opening, _sealed
from sklearn_dpbo.privacy.ledger._file import placed

pytestmark = pytest.mark.filterwarnings("ignore:No X_val and no cv")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture(params=["file", "server"])
def place(request):
    """Where the ledger is kept: the path of a file or the URL of a database."""
    return request.getfixturevalue({"file": "path", "server": "database"}[request.param])


def opened(place, epsilon=1.0, **params):
    return PrivacyLedger(place, "patients", epsilon, **params, create=True)


def beside(place, name):
    """Where the ledger of another data set is kept: in another file, or in the same database."""
    return place if isinstance(place, str) else place.with_name(f"{name}.db")


def change(place, edit):
    """Replace all lines by what a function makes of the list of them."""
    if isinstance(place, str):
        replace_lines(place, edit(lines_at(place)))
    else:
        lines = [line.rpartition(" ")[0] for line in place.read_text().splitlines()]
        place.write_bytes(placed(edit(lines)))


# ---------------------------------------------------------------- sums


@pytest.mark.first(1)
def test_ten_charges_of_a_tenth_fit_a_budget_of_one_and_an_eleventh_does_not(place):
    ledger = opened(place)
    for _ in range(10):
        ledger.charge(0.1, what="a test")
    assert ledger.left == {"epsilon": 0.0, "delta": 0.0}
    with pytest.raises(
        BudgetExceededError, match=r"asks for epsilon=1e-09.*spent epsilon=1, .*has left epsilon=0"
    ):
        ledger.charge(1e-9, what="one more")
    assert len(ledger.history) == 10


SHARES = {"ana": 0.7, "ben": 0.5}
sequences = st.lists(
    st.tuples(
        st.integers(1, 50).map(lambda i: i / 50),
        st.integers(0, 10).map(lambda i: i / 50),
        st.sampled_from(["ana", "ben", "carl"]),
    ),
    max_size=8,
)


@pytest.mark.parametrize("share", [None, SHARES])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(charges=sequences)
def test_charges_are_accepted_exactly_when_they_fit_budget_and_share(path, charges, share):
    accepted_exactly_if_they_fit(path, charges, share)


def decimal(x):
    return Decimal(repr(x))


def accepted_exactly_if_they_fit(place, charges, share):
    dataset, charged = uuid.uuid4().hex, []
    place = beside(place, dataset)
    PrivacyLedger(place, dataset, 1.0, 0.2, share=share, create=True)
    for epsilon, delta, who in charges:
        after = [*charged, (decimal(epsilon), decimal(delta), who)]
        fits = sum(e for e, _, _ in after) <= 1 and sum(d for _, d, _ in after) <= decimal(0.2)
        if share:
            of_who = sum(e for e, _, w in after if w == who)
            fits = fits and of_who <= decimal(share.get(who, 0))
        ledger = PrivacyLedger(place, dataset, who=who)
        for use in (lambda: ledger.check(epsilon, delta, what="a test"),
                    lambda: ledger.charge(epsilon, delta, what="a test")):  # fmt: skip
            with contextlib.nullcontext() if fits else pytest.raises(BudgetExceededError):
                use()
        charged = after if fits else charged
    ledger = PrivacyLedger(place, dataset)
    found = [(entry.epsilon, entry.delta, entry.who) for entry in ledger._verified()[1]]
    assert found == charged
    left = {who: x["left"] for who, x in ledger.to_dict()["shares"].items()}
    for who, epsilon in (share or {}).items():
        spent = sum(float(e) for e, _, w in charged if w == who)
        assert left[who] == pytest.approx(epsilon - spent)


def test_a_share_is_refused_with_words_that_say_what_to_do(place, tmp_path):
    ledger = opened(place, share={"ana": 0.5, "ben": 0.25}, who="ana")
    ledger.charge(0.5, what="all of it")
    with pytest.raises(BudgetExceededError, match=r"'ana' has spent epsilon=0.5 of a share of eps"):
        ledger.charge(1e-9, what="one more")
    with pytest.raises(BudgetExceededError, match="shared by 'ana', 'ben'; '.*' has no share"):
        fit(search(PrivacyLedger(place, "patients")))
    ben = PrivacyLedger(place, "patients", who=" ben")
    ben.charge(0.25, what="all of his")
    assert [row["who"] for row in ben.history] == ["ana", "ben"]
    assert "epsilon left: ana 0 of 0.5, ben 0 of 0.25" in str(ben)
    for share in (None, {"ana": 1.0, "ben": 0.25}, {"ana": 0.5}):
        with pytest.raises(LedgerError, match="cannot be changed"):
            opened(place, share=share)
    for wrong in (["ana"], {3: 0.1}, {"ana": -1}, dict.fromkeys(map(str, range(101)), 0.1)):
        with pytest.raises(ValueError, match="share"):
            opened(beside(place, "new"), share=wrong)


# ---------------------------------------------------------------- parts without common records

PARTS = ("fit", "women", "men")
charges_to_parts = st.lists(
    st.tuples(
        st.integers(1, 40).map(lambda i: i / 50),
        st.integers(0, 8).map(lambda i: i / 50),
        st.sets(st.sampled_from(PARTS)).map(sorted),
    ),
    max_size=7,
)


def accepted_exactly_if_each_part_has_it(place, charges):
    dataset, charged = uuid.uuid4().hex, []
    place = beside(place, dataset)
    ledger = PrivacyLedger(place, dataset, 1.0, 0.2, parts=PARTS, create=True)

    def lost(charges, name):
        of_it = [c for c in charges if not c[2] or name in c[2]]
        return sum(decimal(e) for e, _, _ in of_it), sum(decimal(d) for _, d, _ in of_it)

    for epsilon, delta, parts in charges:
        after = [*charged, (epsilon, delta, parts)]
        fits = all(e <= 1 and d <= decimal(0.2) for e, d in (lost(after, n) for n in PARTS))
        view = ledger.part(*parts) if parts else ledger
        for use in (view.check, view.charge):
            with contextlib.nullcontext() if fits else pytest.raises(BudgetExceededError):
                use(epsilon, delta, what="a test")
        charged = after if fits else charged
    each = [tuple(map(float, lost(charged, name))) for name in PARTS]
    assert tuple(ledger.spent.values()) == tuple(map(max, zip(*each, strict=True)))
    assert [tuple(of.values()) for of in ledger.to_dict()["parts"].values()] == each
    assert ledger.part("men").spent["epsilon"] == each[2][0]
    assert [row["parts"] for row in ledger.history] == [", ".join(p) for _, _, p in charged]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(charges=charges_to_parts)
def test_charges_to_parts_are_accepted_exactly_if_each_part_has_it_left(path, charges):
    accepted_exactly_if_each_part_has_it(path, charges)


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(charges=charges_to_parts)
def test_so_are_charges_to_parts_on_a_server(database, charges):
    accepted_exactly_if_each_part_has_it(database, charges)


def test_who_is_in_one_part_alone_pays_for_that_part_alone(place):
    """A fit on 1,750 patients, an evaluation on 750 others, and two of the women and men there."""
    ledger = opened(place, 0.5, parts=PARTS, share={"ana": 1.2}, who="ana")
    ledger.part("fit").charge(0.5, what="a model")
    assert (
        "for records of women and men alone"
        in ledger.part("women", "men").charge(0.3, what="all").parts
    )
    women = copy.deepcopy(pickle.loads(pickle.dumps(ledger.part("women"))))
    assert repr(women).endswith(", parts=('women',))")
    receipt = women.charge(0.2, what="an evaluation of the women")
    assert ledger.spent["epsilon"] == 0.5 and women.left["epsilon"] == 0
    with pytest.raises(BudgetExceededError, match="left epsilon=0, delta=0 for 'women'"):
        women.charge(0.1, what="one more")
    with pytest.raises(BudgetExceededError, match="asks for epsilon=0.1, delta=0; "):
        ledger.charge(0.1, what="a release from all")
    with pytest.raises(BudgetExceededError, match="'ana' has spent epsilon=1 of a share"):
        ledger.part("men").charge(0.25, what="beyond her share")
    ledger.part("men").charge(0.2, what="an evaluation of the men")
    assert ledger.spent["epsilon"] == 0.5
    assert ledger.verify([receipt]).charge == 4
    assert "by the owner's word, no unit is in two parts" in receipt.parts
    assert "parts    epsilon spent: fit 0.5, women 0.5, men 0.5 (by the owner's word" in str(ledger)


def test_the_report_says_that_parts_are_disjoint_by_the_owners_word(path):
    ledger = opened(path, parts=PARTS).part("men")
    report = fit(search(ledger)).privacy_
    details = " ".join(report.details().split())
    assert "for records of men alone: by the owner's word" in details
    assert "by the owner's word" in report.to_dict()["ledger"][0]["parts"]
    assert ledger.spent["epsilon"] == 0.1 and ledger.part("women").spent["epsilon"] == 0


def test_parts_are_declared_when_a_ledger_is_created(place):
    ledger = opened(place, parts=PARTS)
    for wrong in ((), ("boys",), ("men", "boys")):
        with pytest.raises(ValueError, match="has the parts .*Parts are declared"):
            ledger.part(*wrong)
    with pytest.raises(ValueError, match="name in parts must be a str"):
        ledger.part(["men"])
    for other in ((), ("fit", "women")):
        with pytest.raises(LedgerError, match="cannot be changed"):
            opened(place, parts=other)
    assert ledger.part(" women")._parts == ("women",)
    for wrong in ("men", ("men", "men"), ("men", "men "), ("",)):
        with pytest.raises(ValueError, match="parts"):
            opened(beside(place, "new"), parts=wrong)
    with pytest.raises(ValueError, match="are parts of a budget"):
        PrivacyLedger(place, "patients", parts=PARTS)


@pytest.mark.parametrize("gives_back, part", [(True, "women"), (False, "boys")])
def test_a_line_that_gives_back_or_does_not_count_for_a_part_is_refused(path, gives_back, part):
    """Whoever may add lines can compute their hashes, but cannot spend a budget twice."""
    ledger = opened(path, parts=PARTS)
    ledger.part("men").charge(1.0, what="all of it")

    def forged(lines):
        opening, entry = Opening.parse(lines[0]), Entry.parse(lines[1])
        less = entry.totals._replace(parts=opening.totals.parts) if gives_back else entry.totals
        loss = Loss(Decimal("0.1"), Decimal(0), parts=(part,))
        line = Entry.after(
            entry._replace(totals=less),
            loss,
            time="",
            what="",
            estimator="",
            purpose="",
            mechanism="",
        )
        return [*lines, line.line()]

    change(path, forged)
    with pytest.raises(LedgerError, match="tampered with, at charge 2"):
        ledger.part("men").charge(0.5, what="again")


def test_a_ledger_without_the_part_in_place_of_the_one_that_was_opened_is_refused(path):
    men = opened(path, parts=PARTS).part("men")
    path.unlink()
    opened(path)
    with pytest.raises(LedgerError, match="no parts .'men'."):
        men.charge(0.1, what="a test")


def test_who_charged_is_by_default_the_account(path, monkeypatch):
    ledger = opened(path)
    ledger.charge(0.1, what="a test")
    monkeypatch.setattr("getpass.getuser", lambda: {}["no name"])
    ledger.charge(0.1, what="a test")
    assert [row["who"] for row in ledger.history] == [getuser(), "unknown"]


def test_losses_on_assumptions_are_refused_if_worst_case_only(place):
    ledger = opened(place, worst_case_only=True)
    with pytest.raises(BudgetExceededError, match="worst-case losses only"):
        ledger.charge(0.1, what="a", assumption="the model is right")
    assert not ledger.history


def test_history_dict_str_and_repr_show_the_charges(place):
    ledger = opened(place, delta=1e-5)
    ledger.charge(0.1, 1e-6, what="first", mechanism="noise", assumption="an assumption")
    ledger.charge(0.25, what="second")
    frame = pd.DataFrame(ledger.history)
    assert frame["what"].tolist() == ["first", "second"] and frame["number"].tolist() == [1, 2]
    assert frame["epsilon"].tolist() == [0.1, 0.25]
    content = json.loads(json.dumps(ledger.to_dict()))
    assert content["budget"]["epsilon"] == 1.0 and len(content["history"]) == 2
    shown = str(ledger)
    assert "first" in shown and "an assumption" in shown and "epsilon=1," in shown
    assert repr(ledger) == "PrivacyLedger(dataset='patients')"


# ---------------------------------------------------------------- opening


def test_a_ledger_can_be_reopened_and_its_budget_cannot_be_changed(place):
    opened(place).charge(0.5, what="a test")
    for again in (opened(place), PrivacyLedger(place, "patients")):
        assert again.left["epsilon"] == 0.5
    for other in (
        {"epsilon": 2.0},
        {"delta": 1e-6},
        {"worst_case_only": True},
        {"share": {"a": 1}},
    ):
        with pytest.raises(LedgerError, match="cannot be changed"):
            opened(place, **other)
    assert (
        PrivacyLedger(beside(place, "another"), "another", 3.0, create=True).left["epsilon"] == 3.0
    )


@pytest.mark.parametrize("content", [b"", b"\n", b"x" * 99, b"x" * 5000])
def test_an_empty_or_corrupt_file_is_refused_and_not_overwritten(path, content):
    ledger = opened(path)
    ledger.charge(0.5, what="a test")
    path.write_bytes(content)
    for attempt in (lambda: ledger.charge(0.1, what="a test"), lambda: ledger.left,
                    lambda: PrivacyLedger(path, "patients"), lambda: opened(path)):  # fmt: skip
        with pytest.raises(LedgerError, match="empty or cut off|not a ledger|not where it was"):
            attempt()
    assert path.read_bytes() == content


def test_a_new_ledger_needs_create(path):
    """Code that always passes epsilon must not begin a budget anew when the file is gone."""
    with pytest.raises(LedgerError, match="create=True"):
        PrivacyLedger(path, "patients", 1.0)
    assert not path.exists()
    with pytest.raises(ValueError, match="pass epsilon="):
        PrivacyLedger(path, "patients", create=True)
    opened(path).charge(0.5, what="a test")
    assert opened(path).left["epsilon"] == 0.5, "an existing one is not begun anew"


def test_the_home_directory_and_the_umask_are_respected(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    before = os.umask(0o002)
    try:
        ledger = opened("~/budget.db")
    finally:
        os.umask(before)
    path = tmp_path / "budget.db"
    assert ledger.path == str(path) and path.stat().st_mode & 0o777 == 0o664
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def read_as_somebody_else(path):
    os.setuid(65534)
    ledger = PrivacyLedger(path, "patients")
    assert (ledger.left["epsilon"], len(ledger.history), ledger.verify().charge) == (0.5, 1, 1)
    with pytest.raises(LedgerError, match="Permission denied"):
        ledger.charge(0.1, what="not allowed")


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as somebody else")
def test_a_ledger_can_be_read_with_the_right_to_read_alone():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        opened(path := Path(folder, "budget.db")).charge(0.5, what="a test")
        path.chmod(0o644)
        process = processes.Process(target=read_as_somebody_else, args=(path,))
        process.start()
        process.join()
    assert process.exitcode == 0


def test_a_ledger_keeps_its_file_when_the_process_changes_directory(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        ledger = opened("budget.db")
    monkeypatch.chdir(tmp_path / "a")
    ledger.charge(1, what="all of b")
    assert opened("budget.db").left["epsilon"] == 1.0
    assert pickle.loads(pickle.dumps(ledger)).left["epsilon"] == 0.0


@pytest.mark.parametrize("part", [{"delta": 1e-6}, {"worst_case_only": True}, {"share": {"a": 1}}])
def test_parts_of_a_budget_without_epsilon_are_refused_and_not_ignored(path, part):
    opened(path)
    with pytest.raises(ValueError, match="are parts of a budget: pass epsilon="):
        PrivacyLedger(path, "patients", **part)


def test_missing_files_and_data_sets_are_errors_and_are_not_created(path, tmp_path):
    with pytest.raises(LedgerError, match="no such file"):
        PrivacyLedger(path, "patients")
    ledger = opened(path)
    with pytest.raises(LedgerError, match="no ledger of 'others'"):
        PrivacyLedger(path, "others")
    path.unlink()
    with pytest.raises(LedgerError, match="restore it from a backup"):
        ledger.charge(0.1, what="after the loss of the file")
    assert not path.exists()
    os.mkfifo(tmp_path / "pipe")
    for wrong in (tmp_path, tmp_path / "nowhere" / "b.db", tmp_path / "pipe"):
        with pytest.raises(LedgerError):
            opened(wrong)


@pytest.mark.parametrize(
    ("dataset", "epsilon", "delta"),
    [
        ("", 1, 0),
        (" ", 1, 0),
        (3, 1, 0),
        ("a", 10**400, 0),
        ("a", 1, 1e-310),
        ("a", np.True_, 0),
        ("a", 0, 0),
        ("a", -1, 0),
        ("a", "x", 0),
        ("a", 1, 1),
        ("a", 1, -1),
    ],
)
def test_invalid_names_and_budgets_are_refused(path, dataset, epsilon, delta):
    with pytest.raises(ValueError, match="found"):
        PrivacyLedger(path, dataset, epsilon, delta, create=True)
    assert not path.exists()


# ---------------------------------------------------------------- copies, threads, processes


class PathOfBytes(os.PathLike):
    def __fspath__(self):
        return b"x.db"


@pytest.mark.parametrize("wrong", [None, 3, b"x.db", "a\0b.db", PathOfBytes()])
def test_invalid_paths_are_refused(wrong):
    with pytest.raises(ValueError, match="path of a file"):
        opened(wrong)


@given(st.decimals("1e-9", 1, places=30))
def test_round_down_decimal_returns_no_more_than_what_is_left(left):
    rounded = round_down_decimal(left)
    assert parse_decimal("epsilon", rounded) <= left and rounded >= float(left) * (1 - 1e-15)


def test_copies_clones_and_pickles_charge_the_same_ledger(place):
    ledger = opened(place)
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [1, 2]}, ledger=ledger)
    for same in (copy.deepcopy(ledger), clone(search).ledger, pickle.loads(pickle.dumps(ledger))):
        same.charge(0.1, what="a copy")
    assert ledger.spent["epsilon"] == pytest.approx(0.3)


def charge_until_refused(path, epsilon, who=None):
    ledger, n = PrivacyLedger(path, "patients", who=who), 0
    with contextlib.suppress(BudgetExceededError):
        while True:
            ledger.charge(epsilon, what="a race")
            n += 1
    return n


@pytest.mark.slow
def test_processes_together_spend_exactly_the_budget_and_each_share(place):
    opened(place, epsilon=4.0, share={"ana": 1, "ben": 2})
    with processes.Pool(4) as pool:
        counts = pool.starmap(
            charge_until_refused, [(place, 0.1, who) for who in ("ana", "ben")] * 2
        )
    assert sum(counts[::2]) == 10 and sum(counts[1::2]) == 20
    assert len(PrivacyLedger(place, "patients").history) == 30


def test_a_disk_that_reads_less_than_was_asked_for_is_an_error(path, monkeypatch):
    """A read ends before a block that cannot be read: the line before would seem the last one."""
    ledger, read = opened(path), os.pread
    for _ in range(3):
        ledger.charge(0.3, what="a test")
    end = path.stat().st_size

    def failing_read(descriptor, n, start):
        return read(descriptor, min(n, end - 100 - start), start)

    monkeypatch.setattr(os, "pread", failing_read)
    with pytest.raises(LedgerError, match="bytes could be read"):
        ledger.charge(0.3, what="beyond the budget")


def test_a_charge_follows_the_file_that_took_the_place_while_it_waited(path):
    """It must not go to a file that has been moved away."""
    ledger = opened(path)
    opened(path.with_name("new.db"))
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        thread = threading.Thread(target=ledger.charge, args=(0.25,), kwargs={"what": "a test"})
        thread.start()
        time.sleep(0.1)
        os.replace(path.with_name("new.db"), path)
    thread.join()
    assert ledger.spent["epsilon"] == 0.25


def with_line(number, edit):
    return lambda lines: [edit(line) if i == number else line for i, line in enumerate(lines)]


def without(number):
    return lambda lines: [line for i, line in enumerate(lines) if i != number]


def forged(epsilon="0.1", delta="0", totals=None):
    """Return what adds a charge whose hashes are right."""

    def edit(lines):
        fields = json.loads(lines[-1])
        fields |= {"number": fields["number"] + 1, "previous": fields.pop("hash")}
        fields |= {"epsilon": epsilon, "delta": delta, "totals": totals or fields["totals"]}
        return [*lines, _sealed(fields)]

    return edit


DAMAGES = {
    "the first charge is gone": (without(1), False),
    "another charge is gone": (without(2), False),
    "two charges are exchanged": (lambda lines: [lines[i] for i in (0, 2, 1, 3)], False),
    "a charge is there twice": (lambda lines: [*lines[:2], *lines[1:]], False),
    "a text of an earlier charge": (with_line(2, lambda s: s.replace("a test", "a rest")), False),
    "an earlier epsilon": (with_line(2, lambda s: s.replace("0.1", "0.0")), False),
    "epsilon of the last charge": (with_line(3, lambda s: s.replace("0.1", "0.0")), True),
    "the totals of the last charge": (with_line(3, lambda s: s.replace("0.3", "0.2")), True),
    "the budget": (with_line(0, lambda s: s.replace('"1.0"', '"2.0"')), True),
    "the unit": (with_line(0, lambda s: s.replace("record", "people")), True),
    "the opening is gone": (without(0), True),
    "a negative charge": (forged("-1"), True),
    "a charge of nothing": (forged("0"), True),
    "a negative delta": (forged("1", "-1"), True),
    "no number": (forged("x"), True),
    "NaN": (forged("NaN"), True),
    "wrong totals, right hashes": (forged("0.5"), False),
    "negative shares": (forged(totals=["1", "0", {"ana": "-1"}]), True),
    "negative totals": (forged(totals=["-9", "0", {}]), True),
    "other fields": (lambda lines: [*lines[:-1], _sealed({"number": 3})], True),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_changed_or_deleted_lines_are_found_by_verify_and_at_the_ends_by_a_charge(path, damage):
    ledger = opened(path)
    for _ in range(3):
        ledger.charge(0.1, what="a test")
    edit, at_once = DAMAGES[damage]
    change(path, edit)
    for read in (ledger.verify, lambda: ledger.history, ledger.to_dict, lambda: str(ledger)):
        with pytest.raises(LedgerError, match="damaged or tampered with|not a ledger"):
            read()
    if at_once:
        with pytest.raises(LedgerError):
            ledger.charge(0.1, what="a test")


@pytest.mark.parametrize("n_lines", [1, 2, 3])
def test_lines_of_a_backup_at_the_end_of_the_file_are_no_older_state(path, n_lines):
    """The last line is intact, and was once the last one: it would give a charge back."""
    ledger = opened(path)
    ledger.charge(0.1, what="a test")
    backup = path.read_bytes().splitlines(keepends=True)
    ledger.charge(0.8, what="a test")
    with path.open("ab") as file:
        file.writelines(backup[-n_lines:])
    for use in (lambda: ledger.left, ledger.verify, lambda: ledger.charge(0.9, what="too much")):
        with pytest.raises(LedgerError, match="not where it was written|not a ledger"):
            use()


# ---------------------------------------------------------------- what was published


def published(path, n=3):
    ledger = opened(path)
    receipts = [ledger.charge(0.1, what="a release") for _ in range(n)]
    return ledger, receipts


@pytest.mark.first(1)
def test_verify_accepts_reports_and_receipts(place):
    ledger, receipts = published(place)
    privacy = fit(search(ledger)).privacy_
    assert ledger.verify([*receipts, privacy])
    assert privacy.receipts == (ledger.verify(),) and ledger.verify().charge == 4
    assert privacy.receipts[0].head in privacy.details()


def test_verify_finds_an_older_copy_that_was_restored(path):
    ledger, (*earlier, last) = published(path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    ledger.verify(earlier)
    with pytest.raises(LedgerError, match="charge 3 is missing, the last one is 2"):
        ledger.verify([*earlier, last])
    ledger.charge(0.1, what="it goes on from the older copy")
    with pytest.raises(LedgerError, match=r"reports\[2\]: charge 3 differs"):
        ledger.verify([*earlier, last])


def test_verify_finds_a_ledger_that_was_begun_anew(path):
    _, receipts = published(path)
    path.unlink()
    with pytest.raises(LedgerError, match="started anew"):
        opened(path).verify(receipts)


def test_verify_refuses_a_report_without_charges(path):
    ledger, _ = published(path)
    with pytest.raises(ValueError, match=r"reports\[0\] reports a release that no ledger"):
        ledger.verify([fit(search(None)).privacy_])


# ---------------------------------------------------------------- units


@pytest.mark.first(1)
def test_a_loss_per_record_is_refused_by_a_ledger_of_patients(place):
    ledger = opened(place, unit="patient")
    X, y, X_val, y_val = problem()
    with pytest.raises(BudgetExceededError, match="adds up losses per patient. Pass the groups"):
        search(ledger).fit(X, y, X_val=X_val, y_val=y_val)
    search(ledger).fit(X, y, X_val=X_val, y_val=y_val, groups_val=np.arange(len(X_val)) // 2)
    assert len(ledger.history) == 1 and ledger.unit == "patient"
    with pytest.raises(LedgerError, match="unit='patient'; found another unit"):
        PrivacyLedger(place, "patients", unit="record")


@pytest.mark.parametrize(
    ("unit", "charged", "fits"),
    [
        ("record", "record", True),
        ("record", "group", True),
        ("record", None, True),
        ("record", "row within 1", False),
        ("patient", "patient", True),
        ("patient", "group", True),
        ("patient", "record", False),
        ("row within 1", "record", True),
        ("row within 1", "row within 1", True),
        ("row within 1", "row within 2", False),
    ],
)
def test_a_loss_is_charged_if_it_bounds_the_loss_per_unit_of_the_ledger(path, unit, charged, fits):
    ledger = opened(path, unit=unit)
    with contextlib.nullcontext() if fits else pytest.raises(BudgetExceededError, match="per"):
        ledger.charge(0.1, what="a test", unit=charged)
    assert len(ledger.history) == fits


# ---------------------------------------------------------------- locks


def test_a_locked_ledger_is_refused_after_the_timeout(path, monkeypatch):
    monkeypatch.setattr("sklearn_dpbo.privacy.ledger._file._LOCK_TIMEOUT", 0.2)
    ledger = opened(path)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        with pytest.raises(LedgerError, match="locked by another process"):
            ledger.charge(0.1, what="a test")
        assert ledger.left["epsilon"] == 1.0, "several may read at once"
    ledger.charge(0.1, what="a test")
    assert len(ledger.history) == 1


def test_a_forked_child_keeps_no_lock_and_cannot_continue_a_transaction(path):
    ledger = opened(path)
    read, write = os.pipe()
    with ledger._transaction(write=True) as book:
        book.first()
        if (child := os.fork()) == 0:
            with contextlib.suppress(BaseException):
                book.append("")
                os._exit(1)  # it must not get here
            time.sleep(0.5)
            os._exit(0)
        os.write(write, b"x")
    ledger.charge(0.1, what="while the child lives")
    assert os.waitpid(child, os.WNOHANG) == (0, 0), "it still lives"
    assert os.waitpid(child, 0)[1] == 0
    os.close(read), os.close(write)


def test_a_ledger_can_be_charged_while_others_read_all_of_it(path, monkeypatch):
    monkeypatch.setattr("sklearn_dpbo.privacy.ledger._file._LOCK_TIMEOUT", 0.2)
    ledger = opened(path)
    ledger.charge(0.1, what="before")
    with ledger._transaction() as book:
        first, last = book.first(), book.last()
        ledger.charge(0.1, what="meanwhile")
        assert list(book.lines()) == [first, last], "what there was when it was locked"
    assert len(ledger.history) == 2


# ---------------------------------------------------------------- the estimators


def problem():
    X, y = make_classification(300, 5, random_state=0)
    return X[:150], y[:150], X[150:], y[150:]


def search(ledger, **params):
    params = {"epsilon": 0.1, "random_state": 0} | params
    return PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, ledger=ledger, **params)


def fit(estimator):
    X, y, X_val, y_val = problem()
    return estimator.fit(X, y, X_val=X_val, y_val=y_val)


def fit_configurator(ledger, **params):
    items = [KnapsackItems([1, 2], [1, 2], 2)] * 20
    params = {"epsilon": 0.1, "utility_bound": 1.0, "ledger": ledger} | params
    return PrivateConfigurator(Knapsack(), **params).fit(items)


FITS = {
    "search": lambda ledger: fit(search(ledger)),
    "threshold": lambda ledger: fit(
        PrivateThresholdClassifier(LogisticRegression(), epsilon=0.1, ledger=ledger)
    ),
    "configurator": fit_configurator,
    "curator": lambda ledger: GaussianCurator(0.1, 1e-6, max_norm=1.0, ledger=ledger).fit(
        np.zeros((5, 2))
    ),  # whose loss is for a row that moves by 1
}


UNITS = {"curator": "row within 1"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_each_fit_is_charged_once_and_refused_when_the_budget_is_spent(path, name):
    unit = UNITS.get(name, "record")
    ledger = opened(path, epsilon=0.3, delta=1e-5, unit=unit)
    FITS[name](ledger)
    assert [row["epsilon"] for row in ledger.history] == [0.1]
    ledger.charge(0.11, what="so that less than a tenth is left")
    with pytest.raises(BudgetExceededError):
        FITS[name](ledger)
    assert len(ledger.history) == 2


@pytest.mark.parametrize("name", FITS)
def test_no_noise_is_drawn_if_the_ledger_cannot_be_written(path, name, monkeypatch):
    drawn = []
    monkeypatch.setattr(mechanisms, "_draw", lambda *args: drawn.append(args))
    ledger = opened(path, delta=1e-5, unit=UNITS.get(name, "record"))
    change(path, lambda lines: [])
    with pytest.raises(LedgerError, match="Nothing may be released"):
        FITS[name](ledger)
    assert not drawn


def test_a_fit_beyond_the_budget_is_refused_before_any_model_is_fitted(path):
    class Never(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("fitted")

    ledger = opened(path, epsilon=0.25)
    refused = [
        PrivateBayesSearchCV(Never(), {"C": [1]}, epsilon=0.3, ledger=ledger),
        PrivateThresholdClassifier(Never(), epsilon=0.3, ledger=ledger),
    ]
    for estimator in refused:
        with pytest.raises(BudgetExceededError, match="Nothing was charged"):
            fit(estimator)
    assert not ledger.history


def test_estimators_refuse_a_ledger_that_is_not_a_privacy_ledger():
    for wrong in ("budget.db", 3):
        for estimator in (
            search(wrong),
            PrivateThresholdClassifier(LogisticRegression(), ledger=wrong),
        ):
            with pytest.raises(ValueError, match="ledger is a PrivacyLedger or None"):
                fit(estimator)


def test_unusual_characters_in_texts_and_names_are_stored(place):
    ledger = PrivacyLedger(place, "Zu\u0308rich '; DROP TABLE charges; --", 1.0, create=True)
    odd = 'a "b", c\nd; \u2603 \ud800\0'
    ledger.charge(0.1, what=odd)
    assert ledger.history[0]["what"] == odd.replace("\ud800\0", "?")
    again = PrivacyLedger(place, " Z\u00fcrich '; DROP TABLE charges; --", who="\ud800")
    again.charge(0.1, what="a test")
    assert again.left["epsilon"] == 0.8 and again.history[1]["who"] == "?"


def test_a_crash_between_charge_and_release_counts_as_spent(path, monkeypatch):
    ledger = opened(path)
    monkeypatch.setattr(mechanisms, "_draw", lambda *args: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        fit(search(ledger))
    assert [row["epsilon"] for row in ledger.history] == [0.1]


def test_cross_validation_of_a_search_is_charged_once_per_fit(path):
    ledger = opened(path)
    X, y, _, _ = problem()
    cross_val_score(search(ledger), X, y, cv=2)
    assert [row["epsilon"] for row in ledger.history] == [0.1] * 2


def test_a_fit_spends_no_more_than_the_decimal_epsilon(path):
    ledger = opened(path)
    spent = sum(Fraction(loss.epsilon) for loss in fit(search(ledger)).privacy_.spends)
    assert Fraction(1, 10) * (1 - Fraction(1, 2**50)) <= spent <= Fraction(1, 10)
