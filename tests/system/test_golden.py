"""Seeded runs of every public entry point release, report, warn and refuse as they did before."""

from pathlib import Path

import pytest
from golden import RUNS, SLOW
from recorded import differences, read, record, versions

VERSIONS, STORED = read(Path(__file__).parents[1] / "golden.json")

pytestmark = pytest.mark.skipif(
    versions() != VERSIONS,
    reason=f"the stored results are of {VERSIONS}, not of {versions()}",
)
ALL_DRAWS = True


def test_every_run_is_stored():
    assert list(RUNS) == list(STORED)
    failed = [name for name, shown in STORED.items() if "error" in shown]
    assert failed == [name for name in RUNS if "error" in name]


@pytest.mark.first(3)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if i % 32 or name in SLOW else ())
        for i, name in enumerate(RUNS)
    ],
)
def test_a_run_shows_what_it_did(name):
    found = list(differences(STORED[name], record(RUNS[name])))
    assert not found, "\n".join([f"{len(found)} differences of {name!r}", *found[:20]])
