"""Claims of the papers, and figures of the comparison, name checks and scripts that exist."""

import re
from pathlib import Path

import pytest
from planting import mutants

from sklearn_dpbo.papers.kusner2015.bounds import NoisyBounds

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "index.md"
OF_OTHERS = ("FrozenEstimator", "TunedThresholdClassifierCV", "X_val")


def exists(check):
    file, _, test = check.partition("::")
    return (ROOT / file).is_file() and (not test or f"def {test}(" in (ROOT / file).read_text())


def test_each_claim_has_a_status_and_a_check_that_exists():
    claims = re.findall(r"^\| ([A-Z]\d+) \| .* \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
    for claim, status in claims:
        assert re.search("proven|repaired|refuted|relied on|measured|holds", status), claim
    lines = (ROOT / "tests" / "claims.csv").read_text().splitlines()[1:]
    checks = dict(line.split(",") for line in lines)
    of_papers = [claim for claim in checks if not claim.startswith("R")]
    assert [claim for claim, _ in claims] == of_papers, "R: results of others, relied on"
    assert [check for check in checks.values() if not exists(check)] == []
    tested = [claim for claim, check in checks.items() if check.startswith("tests/")]
    bugs = [name.removeprefix("claim ") for name in mutants() if name.startswith("claim ")]
    assert bugs == tested, "a bug is planted for each"


PROOFS = [
    *(f"explanation/{page}.md" for page in ("proofs", "one_table_proofs", "metrics")),
    *("how_to/thresholds.md", "explanation/ledger.md"),
]


@pytest.mark.parametrize("page", PROOFS)
def test_code_that_proofs_name_exists(page):
    """Modules, tests, and classes with their methods."""
    text = (ROOT / "docs" / page).read_text()
    files = [
        path
        for part in ("sklearn_dpbo", "tests", "benchmarks")
        for path in (ROOT / part).rglob("*.py")
    ]
    paths = [path.as_posix() for path in files]
    for name in re.findall(r"`([\w/]+\.py)`", text):
        assert any(path.endswith("/" + name) for path in paths), name
    code = "\n".join(path.read_text() for path in (ROOT / "sklearn_dpbo").rglob("*.py"))
    for names in re.findall(r"`(_?[A-Z]\w*[a-z]\w*(?:\.\w+)?)`", text):
        for name in names.split("."):
            found = re.search(rf"\b(class|def) {name}\b", code) or name in OF_OTHERS
            assert found, f"{names}: not defined"


@pytest.mark.parametrize("page", PROOFS[:3])
def test_each_theorem_about_code_names_it(page):
    """Up to where the next one begins; those that only literature or algebra need have none."""
    text = (ROOT / "docs" / page).read_text()
    parts = re.split(r"(?=^> \*\*|^### Lemma)", text, flags=re.MULTILINE)[1:]
    for part in parts:
        assert re.search(r"`[\w/]*\.py`|`\w+\.\w+`", part), part[:80]


def test_sensitivity_of_the_candidate_grows_with_the_number_of_evaluations():
    def bounds(T):
        return NoisyBounds(
            T=T, n_candidates=256, delta=0.025, k1=0.9999, noise=0.1, gamma=25.0
        ).sensitivity_of_mean

    assert [round(bounds(T), 1) for T in (16, 64, 1024)] == [11.4, 12.3, 14.0]


def test_each_figure_of_the_comparison_names_a_benchmark_that_exists():
    text = (ROOT / "docs" / "reference" / "comparison.md").read_text()
    lines = re.findall(r"^\| .*\| script \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)[0]
    for line in lines.splitlines():
        scripts = re.findall(r"`(\w+\.py)", line.rstrip("| ").rpartition("|")[2])
        assert scripts, line
        assert all((ROOT / "benchmarks" / script).is_file() for script in scripts), line
