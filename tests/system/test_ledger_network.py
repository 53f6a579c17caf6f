"""Privacy ledgers on a server that falls silent, behind a pooler, and with TLS."""

import contextlib
import copy
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from postgresql import Proxy
from test_ledger import charge_until_refused, opened
from test_ledger_server import transaction_of

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.exceptions import LedgerError
from sklearn_dpbo.ledger import _connection as ledger_connection


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


# ---------------------------------------------------------------- other ledgers, and forks


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
