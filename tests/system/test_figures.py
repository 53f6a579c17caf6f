"""The numbers that pages print are those of the files of results."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = "docs/reference/benchmarks.md"


@pytest.fixture
def figures(monkeypatch):
    """The script of the benchmarks that compares, and what pages print."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import figures

    return figures


def printed(figures, page):
    titles, phrases = figures.PAGES[page]
    return [figures.Figure(*phrase) for phrase in phrases()], titles


@pytest.mark.slow
def test_pages_print_the_numbers_of_the_results(figures):
    wrong = figures.check()
    assert not wrong, "python benchmarks/figures.py writes most of these:\n" + "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("hold_out_test", '"public"'),
        ("metrics_over_m_and_epsilon", "epsilon = 1"),
        ("ten_tables", "accuracy"),
        ("outsourced_synthetic", "sound"),
        ("overhead", "second start: CPU ratio"),
        ("beside_defaults", "warned"),
        ("alarms", "alarm"),
    ],
)
def test_another_result_is_noticed(figures, monkeypatch, name, column):
    import printed

    whole = printed.read

    def changed(path):
        rows = whole(path)
        if path.stem != name:
            return rows
        cells = rows[column].map(lambda cell: re.sub(r"\d", lambda d: str(9 - int(d[0])), cell))
        return rows.assign(**{column: cells})

    monkeypatch.setattr(printed, "read", changed)
    assert figures.check(pages=[PAGE])


@pytest.mark.slow
def test_another_error_with_bounds_is_noticed(figures, monkeypatch):
    import printed

    rows = printed.clipped_losses()
    monkeypatch.setattr(printed, "clipped_losses", lambda: rows.assign(error=2 * rows["error"]))
    assert figures.check(pages=["docs/explanation/metrics.md"])


@pytest.mark.slow
def test_another_digit_on_the_page_is_noticed(figures):
    """But for constants of the setting, and in a sample of the others."""
    page, (all_figures, titles) = (ROOT / PAGE).read_text(), printed(figures, PAGE)
    digits = [
        match.start() + at.start()
        for figure in all_figures if figure.numbers
        for match in figure.pattern.finditer(page)
        for at in re.finditer(r"\d", match.group())
    ]  # fmt: skip
    assert len(digits) > 400
    for at in digits[::23]:
        wrong = page[:at] + str(9 - int(page[at])) + page[at + 1 :]
        assert list(figures.problems(wrong, all_figures, titles)), page[at - 40 : at + 40]


@pytest.mark.slow
def test_a_number_that_nothing_explains_is_noticed(figures):
    page = (ROOT / PAGE).read_text() + "\nIt is 0.97 of what others have.\n"
    (wrong,) = figures.problems(page, *printed(figures, PAGE))
    assert "no figure explains 0.97" in wrong


@pytest.mark.slow
def test_example_of_the_readme_gives_the_accuracies_of_its_table(figures):
    """Those without noise as they stand, and a private search that beats the first two."""
    import printed

    stored = printed.table("scans").set_index("parameters")
    for seed in ("0", "1", "2"):
        run = subprocess.run(
            [sys.executable, ROOT / "docs" / "examples" / "scans.py"],
            capture_output=True, text=True, check=True,
            env={**os.environ, "SEED": seed, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        found = map(float, re.findall(r"^  (0\.\d{3})  ", run.stdout, re.M))
        defaults, public, private, exact = found
        ways = ["defaults", "cross-validation within the public scans"]
        ways.append("the same search without privacy")
        expected = [float(stored.loc[way, seed]) for way in ways]
        assert [defaults, public, exact] == pytest.approx(expected, abs=0.01)
        assert private > max(defaults, public)
