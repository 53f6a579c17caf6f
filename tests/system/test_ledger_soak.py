"""100,000 charges from four processes that are killed again and again: ``pytest -m soak``.

It takes about five minutes on two cores and is not part of CI.
"""

import multiprocessing
import os
import random
import signal
import time

import pytest

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.exceptions import BudgetExceededError

pytestmark = pytest.mark.soak

N_CHARGES = 100_000
N_PROCESSES = 4


def charge_until_refused(path, confirmed):
    """Write a byte to a file after each charge, as a release would follow it."""
    ledger = PrivacyLedger(path, "patients")
    with open(confirmed, "ab", buffering=0) as released:
        while True:
            try:
                ledger.charge(0.1, what="one of many")
            except BudgetExceededError:
                return
            released.write(b".")


def test_many_charges_with_kills_spend_exactly_the_budget(tmp_path):
    path, rng = tmp_path / "budget.ledger", random.Random(0)
    ledger = PrivacyLedger(path, "patients", N_CHARGES // 10, create=True)
    spawn = multiprocessing.get_context("spawn").Process
    files = iter(tmp_path / f"released{i}" for i in range(10**6))

    def start():
        process = spawn(target=charge_until_refused, args=(path, next(files)))
        process.start()
        return process

    processes, n_kills = [start() for _ in range(N_PROCESSES)], 0
    while ledger.left["epsilon"] > 0:
        time.sleep(rng.uniform(2, 6))  # a new process has to import the package
        i = rng.randrange(N_PROCESSES)
        if processes[i].is_alive():
            os.kill(processes[i].pid, signal.SIGKILL)
            n_kills += 1
        processes[i].join()
        processes[i] = start()
    for process in processes:
        process.join(600)
        assert process.exitcode == 0, "none of them hangs or fails"
    released = sum(file.stat().st_size for file in tmp_path.glob("released*"))
    charged = ledger.verify().charge
    print(f"\n{n_kills} kills, {charged:,} charges, {released:,} releases")
    assert charged == N_CHARGES == len(ledger.history) and ledger.left["epsilon"] == 0
    assert charged - n_kills <= released <= charged
    assert n_kills >= 10
