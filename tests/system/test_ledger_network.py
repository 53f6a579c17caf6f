"""Privacy ledgers on a server that falls silent, behind a pooler, and with TLS."""

import contextlib
import copy
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from postgresql import Proxy, free_port, run_sql
from test_ledger import charge_until_refused, opened
from test_ledger_server import transaction_of

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.exceptions import BudgetExceededError, LedgerError
from sklearn_dpbo.ledger import _connection as ledger_connection

UNKNOWN = "whether the change was made is not known.*if it was, it counts as spent"
SILENT = "has not answered for"


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(ledger_connection, "TIMEOUT", 0.4)
    monkeypatch.setattr(ledger_connection, "GRACE", 0.2)
    monkeypatch.setitem(ledger_connection._OPTIONS, "connect_timeout", 2)  # psycopg's smallest


@pytest.fixture
def proxy(own_database):
    with contextlib.closing(Proxy(own_database)) as proxy:
        yield proxy


# ---------------------------------------------------------------- silence


def test_a_host_that_accepts_and_says_nothing_is_an_error(impatient):
    with contextlib.closing(Proxy("postgresql://h/db", n_answered=0)) as proxy:
        proxy.connect = lambda: threading.Event().wait()
        with pytest.raises(LedgerError, match="timeout"):
            opened(proxy.url)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no pthread_kill here")
def test_an_interrupt_ends_the_wait_for_a_connection(proxy):
    proxy.is_mute = True
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        opened(proxy.url)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("heard", [False, True])
def test_silence_at_any_message_of_a_charge_is_an_error(own_database, impatient, heard):
    """After each message the server falls silent: it may have heard the message, or not."""
    opened(own_database)

    def charge_with(n_answered):
        dataset = f"{n_answered} answers"
        direct = PrivacyLedger(own_database, dataset, 1.0, create=True)
        with contextlib.closing(Proxy(own_database, n_answered, heard)) as proxy:
            ledger = copy.copy(direct)
            ledger.path = proxy.url
            try:
                ledger.charge(0.25, what="a test")
                error = ""
            except LedgerError as caught:
                error = str(caught)
        return n_answered, error, direct

    with ThreadPoolExecutor(8) as pool:
        for n_answered, error, direct in pool.map(charge_with, range(16)):
            history = PrivacyLedger(own_database, direct.dataset).history
            if not error:
                break
            assert "Nothing may be released" in error
            assert (not history) or "if it was, it counts as spent" in error
        assert n_answered > 5 and len(history) == 1, "all points were tried"


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no SIGSTOP here")
@pytest.mark.parametrize("at", ["statement", "commit"])
def test_a_server_process_that_is_stopped_is_an_error(own_database, impatient, at):
    ledger = opened(own_database)
    backend = None
    try:
        with (
            pytest.raises(LedgerError, match=SILENT if at == "statement" else UNKNOWN),
            transaction_of(ledger) as execute,
        ):
            ((backend,),) = execute("SELECT pg_backend_pid()")
            os.kill(backend, signal.SIGSTOP)
            if at == "statement":
                execute("SELECT 1")
    finally:
        os.kill(backend, signal.SIGCONT)
    ledger.charge(0.1, what="a test")


def test_after_an_exception_a_silent_server_does_not_delay_it_for_long(proxy, impatient):
    ledger = opened(proxy.url)
    with pytest.raises(ZeroDivisionError), transaction_of(ledger):
        proxy.is_mute = True
        raise ZeroDivisionError


# ---------------------------------------------------------------- other ledgers, and forks


def test_a_ledger_that_waits_delays_no_other_ledger_and_no_fork(own_database, tmp_path):
    others = opened(tmp_path / "budget.db"), PrivacyLedger(own_database, "others", 1.0, create=True)
    ledger = opened(own_database)
    with transaction_of(ledger) as execute:
        assert execute("SELECT 1") == [(1,)]
        waiting = threading.Thread(target=lambda: ledger.charge(0.1, what="waits for the lock"))
        waiting.start()
        while run_sql(own_database, "SELECT count(*) FROM pg_locks WHERE NOT granted") != [(1,)]:
            time.sleep(0.01)
        started = time.monotonic()
        for other in others:
            other.charge(0.1, what="another ledger")
        if (child := os.fork()) == 0:
            os._exit(0)
        os.waitpid(child, 0)
        assert time.monotonic() - started < 5 and waiting.is_alive()
    waiting.join()
    assert len(ledger.history) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_in_a_fork_the_transaction_of_the_parent_is_dead(own_database):
    """The child can neither use it nor end it."""
    ledger = opened(own_database)
    read, write = os.pipe()
    with ledger._transaction(write=True) as book:
        connection = book._connection
        execute = lambda sql: connection.execute(sql).fetchall()  # noqa: E731
        if (child := os.fork()) == 0:
            try:
                execute("SELECT 1")
            except Exception as error:
                os.write(write, str(error).encode())
            finally:
                connection.close()  # as at the end of `with`
                os._exit(0)
        os.waitpid(child, 0)
        assert b"a fork" in os.read(read, 1000)
        assert execute("SELECT 1") == [(1,)]
    for end in (read, write):
        os.close(end)


# ---------------------------------------------------------------- PgBouncer


def test_behind_a_pooler_three_clients_together_spend_exactly_the_budget(pooler):
    opened(pooler.url, epsilon=2.0)
    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(charge_until_refused, [pooler.url] * 3, [0.1] * 3)) == 20
    assert len(opened(pooler.url, epsilon=2.0).history) == 20


def test_a_pooled_session_keeps_no_settings_and_no_locks(pooler, own_database):
    ledger = opened(pooler.url)
    name = run_sql(own_database, "SELECT current_database()")[0][0]
    run_sql(own_database, f"ALTER DATABASE {name} SET synchronous_commit = off")
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    for _ in range(3):
        ledger.charge("0.25", what="a test")
        assert run_sql(pooler.url, "SHOW lock_timeout") == [("0",)]
        assert run_sql(own_database, locks) == [(0,)]
    with pytest.raises(BudgetExceededError):
        ledger.charge("0.5", what="too much")


def test_behind_a_pooler_a_silent_server_is_an_error_and_its_lock_is_released(pooler, impatient):
    ledger = opened(pooler.url)
    with contextlib.closing(Proxy(pooler.url)) as proxy:
        silent = PrivacyLedger(proxy.url, "patients")
        with pytest.raises(LedgerError, match=SILENT), transaction_of(silent) as execute:
            proxy.is_mute = proxy.is_deaf = True
            execute("SELECT 1")
    ledger.charge(0.1, what="a test")


# ---------------------------------------------------------------- TLS


def test_a_ledger_with_tls_checks_the_name_and_the_authority(encrypted):
    ledger = opened(encrypted.url())
    ledger.charge(0.25, what="a test")
    with transaction_of(ledger) as execute:
        query = "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        assert execute(query) == [(True, "TLSv1.3")]
    for url, message in (
        (encrypted.url(ca="other_ca"), "certificate verify failed"),
        (encrypted.url(host="127.0.0.1"), "does not match host name"),
        (encrypted.url(mode="disable", ca="ca"), "no encryption"),
    ):
        with pytest.raises(LedgerError, match=f"{message}.*Nothing may be released"):
            PrivacyLedger(url, "patients")
    assert ledger.left["epsilon"] == 0.75


@pytest.mark.parametrize("at", ["statement", "commit"])
def test_silence_is_an_error_with_tls_too(encrypted, impatient, at):
    opened(encrypted.url())
    with contextlib.closing(Proxy(encrypted.url())) as proxy:
        ledger = PrivacyLedger(encrypted.url(port=proxy.port), "patients")
        with (
            pytest.raises(LedgerError, match=SILENT if at == "statement" else UNKNOWN),
            transaction_of(ledger) as execute,
        ):
            proxy.is_mute = True
            if at == "statement":
                execute("SELECT 1")


def test_a_server_that_does_not_run_is_an_error():
    with pytest.raises(LedgerError, match="Connection refused|connection failed"):
        opened(f"postgresql://postgres@127.0.0.1:{free_port()}/db")
