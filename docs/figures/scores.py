"""Write the list of metrics that are computed from counts: python docs/figures/scores.py."""

import re
from pathlib import Path

from sklearn_dpbo.metrics._metrics import AVERAGES
from sklearn_dpbo.metrics._registry import OF_ERRORS, OF_MATRIX, OF_SCORES

PAGE = Path(__file__).parents[1] / "reference" / "scores.md"
PLACE = re.compile(r"(?<=<!-- docs/figures/scores.py -->\n).*(?=<!-- end -->)", re.DOTALL)
# What parameters are set to, for example; that of the positive class stands elsewhere.
EXAMPLES = {"beta": "beta=2", "weights": 'weights="quadratic"', "largest_error": "largest_error="}
DEFAULTS = {"r2": ["default for regressors"]}


def named(entries):
    """The names of these entries, with their parameters."""
    for name, entry in entries.items():
        shown = [f"`{EXAMPLES.get(key, key)}`" for key in entry.params if key != "pos_label"]
        shown = DEFAULTS.get(name, []) + shown
        yield f'`"{name}"`' + f" ({', '.join(shown)})" * bool(shown)


def lines():
    """The list, in Markdown."""
    of_class = {name: entry for name, entry in OF_MATRIX.items() if f"{name}_macro" in OF_MATRIX}
    averages = {f"{name}_{average}" for name in of_class for average in AVERAGES}
    others = OF_MATRIX.keys() - of_class.keys() - averages - {"accuracy"}
    others = {name: OF_MATRIX[name] for name in OF_MATRIX if name in others}
    suffixes = ", ".join(f"`_{average}`" for average in AVERAGES)
    yield (
        f"* From the confusion matrix: {', '.join(named(of_class))}, each also with {suffixes}; "
        f"{', '.join(named(others))}."
    )
    yield f"* From histograms of scores, or pairs: {', '.join(named(OF_SCORES))}."
    yield f"* From sums of errors, labels and their squares: {', '.join(named(OF_ERRORS))}."


def page():
    """The page with today's list."""
    return PLACE.sub(lambda _: "\n" + "\n".join(lines()) + "\n\n", PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
