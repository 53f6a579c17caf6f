"""Privacy ledgers on a PostgreSQL server: what differs from a file."""

import contextlib
import pickle
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from postgresql import Server, new_database, run_sql, with_database
from processes import processes
from test_ledger import charge_until_refused, opened

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.exceptions import BudgetExceededError, LedgerError
from sklearn_dpbo.ledger import _server as ledger_server

SECRET = "hunter2"


def charged(url):
    return run_sql(url, "SELECT count(*) FROM sklearn_dpbo_ledger.charges")[0][0]


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


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://host/db",
        "postgres://me@host:5432/db?sslmode=verify-full&passfile=/home/me/.pgpass",
        "postgresql://me@[::1]:5432/db",
        "postgresql://?service=budgets",
        "postgresql://a:1,b:2/db?target_session_attrs=primary",
        "postgresql://me@/db?host=%2Frun",
    ],
)
def test_a_url_without_a_password_is_accepted_unchanged(url):
    assert ledger_server.is_url(url) and ledger_server.checked_url(url) == url


def test_paths_with_colons_are_not_taken_for_urls():
    for path in ("budget.db", "/a/b:/c.db", "./abc:/x.db", "C:/budget.db", r"C:\budget.db"):
        assert not ledger_server.is_url(path)


def test_errors_repr_and_pickles_do_not_contain_the_password_of_the_environment(
    database, monkeypatch
):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    ledger = opened(database)
    for url in (with_database(database, "nowhere"), "postgresql://nobody@127.0.0.1:1/db"):
        with pytest.raises(LedgerError, match="Nothing may be drawn") as caught:
            opened(url)
        assert SECRET not in str(caught.value)
    assert SECRET.encode() not in pickle.dumps(ledger) and SECRET not in repr(ledger)


def test_without_psycopg_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r'pip install "sklearn_dpbo\[postgresql\]"'):
        opened("postgresql://host/db")


# ---------------------------------------------------------------- opening


def test_missing_schemas_and_data_sets_are_errors_and_are_not_created(database):
    with pytest.raises(LedgerError, match="no schema sklearn_dpbo_ledger"):
        PrivacyLedger(database, "patients")
    ledger = opened(database)
    with pytest.raises(LedgerError, match="no ledger of 'others'"):
        PrivacyLedger(database, "others")
    run_sql(database, "DROP SCHEMA sklearn_dpbo_ledger CASCADE")
    with pytest.raises(LedgerError, match="no schema"):
        ledger.charge(0.1, what="after the loss of the tables")


def test_several_processes_can_create_the_ledger_at_once(database):
    with processes.Pool(4) as pool:
        for ledger in pool.map(opened, [database] * 8, chunksize=1):
            assert ledger.left["epsilon"] == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ALTER TABLE charges SET UNLOGGED", "not an ordinary logged table"),
        ("ALTER TABLE charges RENAME TO c; CREATE VIEW charges AS TABLE c", "not an ordinary"),
        ("CREATE RULE r AS ON INSERT TO charges DO INSTEAD NOTHING", "triggers, rules or row"),
        ("ALTER TABLE charges ENABLE ROW LEVEL SECURITY", "triggers, rules or row"),
        (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
            "CREATE TRIGGER t BEFORE INSERT ON charges FOR EACH ROW EXECUTE FUNCTION f()",
            "triggers, rules or row",
        ),
        ("DROP TABLE charges", "tables of .* are missing"),
        ("COMMENT ON SCHEMA sklearn_dpbo_ledger IS NULL", "was not created by this package"),
        ("ALTER TABLE datasets RENAME COLUMN epsilon TO eps", 'column "epsilon" does not exist'),
    ],
)
def test_altered_or_missing_tables_are_refused(database, change, message):
    ledger = opened(database)
    run_sql(database, f"SET search_path = sklearn_dpbo_ledger; {change}")
    for attempt in (lambda: ledger.charge(0.1, what="a test"), lambda: opened(database)):
        with pytest.raises(LedgerError, match=message):
            attempt()


def test_a_schema_of_another_program_is_refused_and_not_changed(database):
    run_sql(database, "CREATE SCHEMA sklearn_dpbo_ledger; "
            "CREATE TABLE sklearn_dpbo_ledger.charges (mine integer)")  # fmt: skip
    with pytest.raises(LedgerError, match="was not created by this package"):
        opened(database)
    assert charged(database) == 0


def test_transactions_override_the_defaults_of_the_database(database):
    opened(database, epsilon=2.0)
    name = run_sql(database, "SELECT current_database()")[0][0]
    run_sql(database, f"""
        CREATE SCHEMA evil;
        CREATE TABLE evil.charges (LIKE sklearn_dpbo_ledger.charges);
        CREATE FUNCTION evil.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true';
        ALTER DATABASE {name} SET search_path = evil, pg_catalog;
        ALTER DATABASE {name} SET synchronous_commit = off;
        ALTER DATABASE {name} SET client_min_messages = error;
        ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read';
    """)  # fmt: skip
    with processes.Pool(2) as pool:
        assert sum(pool.starmap(charge_until_refused, [(database, 0.1)] * 2)) == 20
    with PrivacyLedger(database, "patients")._transaction() as execute:
        assert execute("SHOW synchronous_commit") == [("on",)]
        assert execute("SHOW transaction_isolation") == [("read committed",)]


def test_read_only_transactions_are_refused(database):
    ledger = opened(database)
    name = run_sql(database, "SELECT current_database()")[0][0]
    run_sql(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(LedgerError, match="read-only"):
        ledger.check((0.1, 0), what="a test")


@contextlib.contextmanager
def setting(url, name, value):
    """Change a setting of the server and wait until it is in effect; restore it at the end."""
    before = run_sql(url, f"SHOW {name}")
    try:
        run_sql(url, f"ALTER SYSTEM SET {name} = {value}")
        run_sql(url, "SELECT pg_reload_conf()")
        while run_sql(url, f"SHOW {name}") == before:
            time.sleep(0.01)
        yield
    finally:
        run_sql(url, f"ALTER SYSTEM RESET {name}")
        run_sql(url, "SELECT pg_reload_conf()")
        while run_sql(url, f"SHOW {name}") != before:
            time.sleep(0.01)


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_with_unsafe_settings_is_refused(own_database, name):
    ledger = opened(own_database)
    with (
        setting(own_database, name, "off"),
        pytest.raises(LedgerError, match=f"{name} = off.*Nothing may be drawn"),
    ):
        ledger.charge(0.1, what="a test")
    ledger.charge(0.1, what="a test")


def test_a_replica_is_refused():
    server = Server()
    try:
        ledger = opened(server.url)
        server.stop_at_once()
        (server.folder / "standby.signal").touch()
        server.start()
        for attempt in (lambda: ledger.charge(0.1, what="a test"), lambda: ledger.left):
            with pytest.raises(LedgerError, match="a replica"):
                attempt()
    finally:
        server.remove()


# ---------------------------------------------------------------- rights


@pytest.fixture
def role(own_database):
    """Create a role without rights; return its name and its URL of the database."""
    name = f"dpbo_test_{uuid.uuid4().hex}"
    run_sql(own_database, f"CREATE ROLE {name} LOGIN")
    yield name, own_database.replace("postgres@", f"{name}@")
    run_sql(own_database, f"DROP OWNED BY {name}; DROP ROLE {name}")


def granted_in_docs(name):
    page = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text()
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
    for more in ("DELETE FROM charges", "UPDATE charges SET epsilon = '0.1'", "TRUNCATE charges",
                 "UPDATE datasets SET epsilon = '9'", "DELETE FROM datasets",
                 "DROP TABLE charges"):  # fmt: skip
        with pytest.raises(Exception, match="permission denied|must be owner"):
            run_sql(url, f"SET search_path = sklearn_dpbo_ledger; {more}")


def test_missing_rights_are_ledger_errors(own_database, role):
    name, url = role
    with pytest.raises(LedgerError, match="permission denied for database"):
        opened(url)
    ledger = opened(own_database)
    ledger.charge(0.5, what="the owner")
    with pytest.raises(LedgerError, match="permission denied for schema"):
        PrivacyLedger(url, "patients")
    run_sql(own_database, f"GRANT USAGE ON SCHEMA sklearn_dpbo_ledger TO {name};"
            f"GRANT SELECT ON ALL TABLES IN SCHEMA sklearn_dpbo_ledger TO {name}")  # fmt: skip
    reader = PrivacyLedger(url, "patients")
    assert reader.history == ledger.history
    with pytest.raises(LedgerError, match="permission denied"):
        reader.charge(0.1, what="a test")


# ---------------------------------------------------------------- locks


def test_a_charge_fails_if_the_lock_is_held_beyond_the_timeout(database, monkeypatch):
    import psycopg

    monkeypatch.setattr(ledger_server, "_TIMEOUT", 0.3)
    ledger = opened(database)
    with contextlib.closing(psycopg.connect(database)) as other:
        other.execute(ledger_server._LOCK)
        with pytest.raises(LedgerError, match="lock timeout.*Nothing may be drawn"):
            ledger.charge(0.1, what="a test")
    ledger.charge(0.1, what="a test")
    assert charged(database) == 1


def test_the_primary_key_prevents_a_second_charge_with_the_same_number(database, monkeypatch):
    import psycopg

    monkeypatch.setattr(ledger_server, "_TIMEOUT", 0.3)
    ledger, entries = opened(database), PrivacyLedger._entries
    with contextlib.closing(psycopg.connect(database)) as other:
        row = "'patients', 1, 'now', 'another', '', '1', '0', NULL"
        other.execute(f"INSERT INTO sklearn_dpbo_ledger.charges VALUES ({row})")
        with pytest.raises(LedgerError, match="lock timeout"):
            ledger.charge(0.1, what="a test")

        def then_commit_the_other(self, execute):
            found = entries(self, execute)
            other.commit()
            return found

        monkeypatch.setattr(PrivacyLedger, "_entries", then_commit_the_other)
        with pytest.raises(LedgerError, match="duplicate key"):
            ledger.charge(0.1, what="a test")
    assert charged(database) == 1


def test_a_client_that_is_idle_too_long_loses_its_lock_and_its_charge(database, monkeypatch):
    monkeypatch.setattr(ledger_server, "_TIMEOUT", 0.2)
    ledger = opened(database)
    monkeypatch.setattr(PrivacyLedger, "_refuse_excess", lambda *args: time.sleep(1))
    with pytest.raises(LedgerError, match="idle-in-transaction timeout|closed"):
        ledger.charge(0.1, what="a test")
    assert charged(database) == 0


# ---------------------------------------------------------------- crashes


TERMINATE = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.mark.parametrize("at", ["_entries", "_refuse_excess"])
def test_a_charge_is_rolled_back_if_the_connection_ends_before_the_commit(
    database, monkeypatch, at
):
    ledger, original = opened(database), getattr(PrivacyLedger, at)
    with monkeypatch.context() as patch:
        patch.setattr(
            PrivacyLedger, at, lambda *args: [original(*args), run_sql(database, TERMINATE)][0]
        )
        with pytest.raises(LedgerError, match="terminating connection.*Nothing may be drawn"):
            ledger.charge(0.1, what="a test")
    assert charged(database) == 0
    ledger.charge(0.1, what="a test")


def test_a_connection_that_ends_at_the_commit_is_an_error_with_unknown_outcome(
    database, monkeypatch
):
    ledger, commit = opened(database), ledger_server._commit

    def terminate_and_commit(connection):
        run_sql(database, TERMINATE)
        commit(connection)

    monkeypatch.setattr(ledger_server, "_commit", terminate_and_commit)
    with pytest.raises(LedgerError, match="whether the change was made is not known"):
        ledger.charge(0.1, what="a test")
    assert charged(database) == 0


def test_a_commit_whose_answer_is_lost_counts_as_spent(database, monkeypatch):
    import psycopg

    ledger, execute = opened(database), psycopg.Connection.execute

    def execute_and_lose_answer(self, sql, *args, **params):
        cursor = execute(self, sql, *args, **params)
        if sql == "COMMIT":
            raise psycopg.OperationalError("the connection is lost")
        return cursor

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", execute_and_lose_answer)
        with pytest.raises(LedgerError, match="not known.*if it was, it counts as spent"):
            ledger.charge(0.75, what="a test")
    assert ledger.left["epsilon"] == 0.25


def test_a_commit_that_no_standby_confirms_is_an_error(own_database, monkeypatch):
    ledger = opened(own_database)
    monkeypatch.setattr(ledger_server, "_TIMEOUT", 0.3)
    with (
        setting(own_database, "synchronous_standby_names", "'nobody'"),
        pytest.raises(LedgerError, match="not known.*synchronous replication"),
    ):
        ledger.charge(0.1, what="a test")
    assert ledger.spent["epsilon"] == 0.1


CHARGES = """
import sys
from sklearn_dpbo import PrivacyLedger
ledger = PrivacyLedger(sys.argv[1], "patients")
for i in range(1000):
    ledger.charge("0.001", what=str(i))
    print(i, flush=True)  # stands for the release
"""


@pytest.mark.parametrize("n_kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_every_release_before_the_server_is_killed_was_charged(server, rng, n_kills):
    n_processes, released = 2, 0
    with new_database(server.url) as url:
        opened(url, epsilon=1000.0)
        for _ in range(n_kills):
            processes = [
                subprocess.Popen([sys.executable, "-c", CHARGES, url], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                for _ in range(n_processes)
            ]  # fmt: skip
            first = [process.stdout.readline() for process in processes]
            time.sleep(rng.uniform(0, 0.3))
            server.stop_at_once()
            rest = [process.stdout.readlines() for process in processes]
            server.start()
            for process, line, lines in zip(processes, first, rest, strict=True):
                released += sum(line.strip().isdigit() for line in [line, *lines])
                assert process.wait() == 1 and "LedgerError" in lines[-1]
            assert len(PrivacyLedger(url, "patients").history) >= released
        assert released > n_kills * n_processes
        assert charged(url) <= released + n_kills * n_processes


# ---------------------------------------------------------------- connections


def test_every_transaction_closes_its_connection(database):
    ledger = opened(database)
    for _ in range(3):
        ledger.charge(0.1, what="a test")
    deadline = time.monotonic() + 30
    count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    while run_sql(database, count) != [(1,)]:  # the connection of this query
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_pooled_connection_keeps_no_settings_locks_or_statements(database, monkeypatch):
    """Two ledgers use one connection in turn, as they would behind a pooler."""
    import psycopg

    state = """
        SELECT (SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_settings),
               (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
               (SELECT count(*) FROM pg_prepared_statements),
               (SELECT count(*) FROM pg_cursors), (SELECT count(*) FROM pg_listening_channels())
    """
    ledgers = opened(database), PrivacyLedger(database, "others", 1.0, create=True)
    name = run_sql(database, "SELECT current_database()")[0][0]
    run_sql(database, f"ALTER DATABASE {name} SET synchronous_commit = off")
    with psycopg.connect(database, **ledger_server._CONNECTION_OPTIONS) as pooled:
        before = pooled.execute(state).fetchall()
        with monkeypatch.context() as patch:
            patch.setattr(psycopg, "connect", lambda *args, **params: pooled)
            patch.setattr(psycopg.Connection, "close", lambda self: None)
            for _ in range(8):
                for ledger in ledgers:
                    ledger.charge("0.125", what="a test")
            assert pooled.execute(state).fetchall() == before
            for ledger in ledgers:
                with pytest.raises(BudgetExceededError):
                    ledger.charge("0.125", what="one more")
        assert pooled.execute(state).fetchall() == before
