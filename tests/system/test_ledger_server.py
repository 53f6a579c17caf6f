"""Privacy ledgers on a PostgreSQL server: what differs from a file."""

import contextlib
import pickle
import re
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from postgresql import run_sql, with_database
from test_ledger import charge_until_refused, opened

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.exceptions import BudgetExceededError, LedgerError
from sklearn_dpbo.privacy.ledger import _ledger as ledgers
from sklearn_dpbo.privacy.ledger import _server as ledger_server
from sklearn_dpbo.privacy.ledger._decimal import EXACT
from sklearn_dpbo.privacy.ledger._entries import Entry, Loss, Opening

SECRET = "hunter2"


def charged(url):
    return run_sql(url, "SELECT count(*) FROM sklearn_dpbo_ledger.entries")[0][0] - 1


@contextlib.contextmanager
def transaction_of(ledger):
    """A function that runs SQL in a transaction of a ledger."""
    with ledgers._ledger_errors(ledger.path), ledger._transaction(write=True) as book:
        yield lambda sql: book._connection.execute(sql).fetchall()


@contextlib.contextmanager
def locked(url, dataset):
    """Hold the lock of a data set's ledger."""
    with ledger_server.transaction(url) as connection:
        ledger_server._lock(connection, dataset)
        yield


# ---------------------------------------------------------------- URLs


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@host/db",
        f"postgres://me:{SECRET}@host:5432/db?sslmode=require",
        f"postgresql://:{SECRET}@/db",
        f"postgresql://me:{SECRET}/@host/db",
        f"postgresql://me:{SECRET}?@host/db",
        f"postgresql://host/db?password={SECRET}",
        f"postgresql://host/db?user=me&password={SECRET}",
        f"postgresql://host/db?pass%77ord={SECRET}",
        f"postgresql://host/db?PASSWORD={SECRET}",
        f"postgresql://host/db?sslpassword={SECRET}",
        f"postgresql://host/db?oauth_client_secret={SECRET}",
        f"postgresql://host/db?scram_client_key={SECRET}",
        f"POSTGRESQL://me:{SECRET}@host/db",
        f"postgresql+psycopg://me:{SECRET}@host/db",
        f"mysql://me:{SECRET}@host/db",
        Path(f"postgresql://me:{SECRET}@host/db"),
        f"postgresql://me:{SECRET}@host/db".encode(),
        f"postgresql://me:{SECRET}@host/db\0",
    ],
)
def test_a_url_with_a_password_is_refused_and_not_shown(url):
    with pytest.raises(ValueError) as caught:
        opened(url)
    assert SECRET not in f"{caught.value!r}{caught.value.__cause__!r}"


def test_errors_repr_and_pickles_do_not_contain_the_password_of_the_environment(
    database, monkeypatch
):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    ledger = opened(database)
    for url in (with_database(database, "nowhere"), "postgresql://nobody@127.0.0.1:1/db"):
        with pytest.raises(LedgerError, match="Nothing may be released") as caught:
            opened(url)
        assert SECRET not in str(caught.value)
    assert SECRET.encode() not in pickle.dumps(ledger) and SECRET not in repr(ledger)


def test_without_psycopg_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r'pip install "sklearn_dpbo\[postgresql\]"'):
        opened("postgresql://host/db")


# ---------------------------------------------------------------- opening


def test_missing_schemas_and_data_sets_are_errors_and_are_not_created(database):
    with pytest.raises(LedgerError, match="no ledger of 'patients'"):
        PrivacyLedger(database, "patients")
    ledger = opened(database)
    with pytest.raises(LedgerError, match="no ledger of 'others'"):
        PrivacyLedger(database, "others")
    run_sql(database, "DROP SCHEMA sklearn_dpbo_ledger CASCADE")
    with pytest.raises(LedgerError, match="no ledger of 'patients'"):
        ledger.charge(0.1, what="after the loss of the tables")


def test_several_clients_can_create_the_ledger_at_once(database):
    with ThreadPoolExecutor(8) as pool:
        for ledger in pool.map(opened, [database] * 8):
            assert ledger.left["epsilon"] == 1.0


def test_a_schema_of_another_program_is_refused_and_not_changed(database):
    run_sql(database, "CREATE SCHEMA sklearn_dpbo_ledger; "
            "CREATE TABLE sklearn_dpbo_ledger.entries (mine integer)")  # fmt: skip
    with pytest.raises(LedgerError, match="does not exist"):
        opened(database)
    assert charged(database) == -1


def test_transactions_override_the_defaults_of_the_database(database):
    opened(database, epsilon=2.0)
    name = run_sql(database, "SELECT current_database()")[0][0]
    run_sql(database, f"""
        CREATE SCHEMA evil;
        CREATE TABLE evil.entries (LIKE sklearn_dpbo_ledger.entries);
        CREATE FUNCTION evil.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true';
        ALTER DATABASE {name} SET search_path = evil, pg_catalog;
        ALTER DATABASE {name} SET synchronous_commit = off;
        ALTER DATABASE {name} SET client_min_messages = error;
        ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read';
    """)  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(charge_until_refused, [database] * 2, [0.1] * 2)) == 20
    with transaction_of(PrivacyLedger(database, "patients")) as execute:
        assert execute("SHOW synchronous_commit") == [("on",)]
        assert execute("SHOW transaction_isolation") == [("read committed",)]


# ---------------------------------------------------------------- rights


@pytest.fixture
def role(own_database):
    """Create a role without rights; return its name and its URL of the database."""
    name = f"dpbo_test_{uuid.uuid4().hex}"
    run_sql(own_database, f"CREATE ROLE {name} LOGIN")
    yield name, own_database.replace("postgres@", f"{name}@")
    run_sql(own_database, f"DROP OWNED BY {name}; DROP ROLE {name}")


def granted_in_docs(name):
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "ledger.md").read_text()
    (block,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    return block.replace("analysts", name)


def test_the_documented_rights_allow_charges_and_no_other_changes(own_database, role):
    name, url = role
    opened(own_database).charge(0.5, what="the owner")
    run_sql(own_database, granted_in_docs(name))
    ledger = opened(url)
    ledger.charge(0.25, what="an analyst")
    assert ledger.left["epsilon"] == 0.25 and len(opened(own_database).history) == 2
    with pytest.raises(BudgetExceededError):
        ledger.charge(0.5, what="too much")
    with pytest.raises(LedgerError, match="permission denied"):
        PrivacyLedger(url, "others", 1.0, create=True)
    for more in ("DELETE FROM entries", "UPDATE entries SET epsilon = 0.1", "TRUNCATE entries",
                 "INSERT INTO datasets VALUES ('others')", "DELETE FROM datasets",
                 "ALTER TABLE entries DISABLE TRIGGER ALL", "DROP TABLE entries",
                 "SET session_replication_role = replica"):  # fmt: skip
        with pytest.raises(Exception, match="permission denied|must be owner"):
            run_sql(url, f"SET search_path = sklearn_dpbo_ledger; {more}")


@pytest.fixture
def analyst(own_database, role):
    """A connection with the documented rights, to a ledger with one charge."""
    import psycopg

    name, url = role
    opened(own_database).charge(0.5, what="the owner")
    run_sql(own_database, granted_in_docs(name))
    with contextlib.closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("SET search_path = sklearn_dpbo_ledger")
        yield connection


def test_the_server_takes_a_row_exactly_if_it_adds_a_loss_to_the_row_before(analyst, rng):
    """Whatever else an analyst may insert would undo a charge or begin a ledger."""
    import psycopg

    number, totals, n_accepted = 1, [Decimal("0.5"), Decimal(0)], 0
    losses = ["0.25", "1e-9", "3", "1e-300", "0", "-0.25", "NaN", "Infinity", "-Infinity"]
    for _ in range(200):
        dataset = "patients" if rng.random() < 0.95 else "others"
        n = number + int(rng.choice([1, 1, 1, 1, 0, 2, -1, -2]))
        loss = [str(x) for x in rng.choice(losses, 2, p=[0.2, 0.2, 0.2, 0.1, *[0.06] * 5])]
        added = [Decimal(x) if x[-1] not in "Ny" else Decimal(0) for x in loss]
        next_totals = list(map(EXACT.add, totals, added))
        stated = [str(x) for x in next_totals]
        if rng.random() < 0.3:
            wrong = ["0", "NaN", "Infinity", "-1", str(totals[0]), loss[0]]
            stated[rng.integers(2)] = str(rng.choice(wrong))
        fits = (dataset == "patients" and n == number + 1 and added[0] > 0 and added[1] >= 0
                and not any(x[-1] in "Ny" for x in (*loss, *stated))
                and list(map(Decimal, stated)) == next_totals)  # fmt: skip
        try:
            sql = "INSERT INTO entries VALUES (%s, %s, 'a line'" + ", %s::numeric" * 4 + ")"
            analyst.execute(sql, (dataset, n, *loss, *stated))
            assert fits, (dataset, n, loss, stated)
            number, totals, n_accepted = n, next_totals, n_accepted + 1
        except psycopg.errors.IntegrityError:
            assert not fits, (dataset, n, loss, stated)
    assert n_accepted > 25
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        analyst.execute("INSERT INTO entries VALUES ('others', 0, 'a line', 0, 0, 0, 0)")


@pytest.mark.first(1)
@pytest.mark.parametrize("false", ["no line", "the opening", "less", "another number"])
def test_an_analyst_who_adds_a_false_line_gets_nothing_back(own_database, analyst, false):
    ledger = PrivacyLedger(own_database, "patients")
    with ledger._transaction() as book:
        opening, last = Opening.parse(book.first()), Entry.parse(book.last())
    texts = dict.fromkeys(("what", "mechanism", "estimator", "purpose"), "")
    loss = Loss(Decimal("0.25"), Decimal(0))
    entry = Entry.after(last, loss, time="now", **texts)
    line = {
        "no line": "no line",
        "the opening": opening.line(),
        "less": entry._replace(totals=opening.totals.plus(loss)).line(),
        "another number": entry._replace(number=1).line(),
    }[false]
    row = ("patients", 2, line, "0.25", "0", "0.75", "0")
    analyst.execute(f"INSERT INTO entries VALUES ({', '.join(['%s'] * len(row))})", row)
    message = "damaged|charge 2 does not state what was charged"
    for attempt in (lambda: ledger.charge(0.4, what="too much"), lambda: ledger.left):
        with pytest.raises(LedgerError, match=message):
            attempt()


# ---------------------------------------------------------------- locks


def test_a_charge_fails_if_the_lock_is_held_beyond_the_timeout(database, monkeypatch):
    ledger = opened(database)
    with locked(database, "patients"):
        monkeypatch.setattr(ledger_server, "TIMEOUT", 0.3)
        for attempt in (lambda: ledger.charge(0.1, what="a test"), lambda: ledger.left):
            with pytest.raises(LedgerError, match="lock timeout.*Nothing may be released"):
                attempt()
    ledger.charge(0.1, what="a test")
    assert charged(database) == 1


# ---------------------------------------------------------------- crashes


TERMINATE = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.mark.first(1)
@pytest.mark.parametrize("at", ["refuse_other_unit", "refuse_excess"])
def test_a_charge_is_rolled_back_if_the_connection_ends_before_the_commit(
    database, monkeypatch, at
):
    ledger, original = opened(database), getattr(ledgers, at)
    with monkeypatch.context() as patch:
        patch.setattr(ledgers, at, lambda *args: [original(*args), run_sql(database, TERMINATE)][0])
        with pytest.raises(LedgerError, match="terminating connection.*Nothing may be released"):
            ledger.charge(0.1, what="a test")
    assert charged(database) == 0
    ledger.charge(0.1, what="a test")


# ---------------------------------------------------------------- cost
