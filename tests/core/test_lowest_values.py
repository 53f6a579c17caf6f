"""No label makes the lowest value of a record raise: what raised would depend on that record."""

import numpy as np
import pytest
from hostile import CLASSES, LABELS
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.metrics._errors import ErrorHistogram, Moments
from sklearn_dpbo.metrics._make import NAMES
from sklearn_dpbo.metrics._response import Predictions
from sklearn_dpbo.metrics.evaluations._design import needs
from sklearn_dpbo.records.canonical import as_labels
from sklearn_dpbo.records.units import Units

TRAINING = {kind: np.repeat(labels, [9, 7, 5][: len(labels)]) for kind, labels in CLASSES.items()}
TRAINING |= {
    "objects": np.array(["no", "yes"] * 9, dtype=object),
    "numbers": np.linspace(0.1, 5, 21),
    "numbers, twice": np.linspace(0.1, 5, 42).reshape(21, 2),
    "labels, twice": np.stack([np.arange(24) % 2, np.arange(24) % 3 % 2], axis=1),
}
PARAMS = {"neg_cost": {"cost_matrix": [[0, 1], [3, 0]]}, "neg_mean_pinball_loss": {"alpha": 0.9}}


def scorers_for(y):
    """Yield every scorer that takes such labels, prepared for the choice and the release."""
    classes, code = np.unique(y, return_inverse=True)
    for name, known in NAMES.items():
        params = PARAMS.get(name, {}) | ({"beta": 2.0} if "beta" in known.params else {})
        if "pos_label" in known.params:
            params |= {"pos_label": classes.tolist()[1]}
        try:
            scorer = make_private_scorer(name, **params).prepare(y)
            labels = "predict" in scorer.response_method
            proba = np.eye(len(classes))[code] * 0.5 + 0.5 / len(classes)
            public = Predictions(y, y if labels else proba, classes)
            scorer = scorer.choice(public).release(lambda _, found=public: found, 50, 1.0)
        except (TypeError, ValueError):  # the score is for other labels
            continue
        yield name, scorer


def counted_for(y):
    """Yield all that is counted of such labels, by a name."""
    for name, scorer in scorers_for(y):
        yield name, scorer.query
        yield f"{name}, released", scorer.counts
    if y.ndim == 1:
        regressor = y.dtype.kind == "f"
        for part in needs(LinearRegression() if regressor else LogisticRegression(), y):
            yield "a report", part
        if regressor:
            yield "an evaluation", Moments(0.0, 1.0, 1.0, (100,) * 7)
            yield "its histogram", ErrorHistogram((0.5, 1.0))


@pytest.mark.first(4)
@pytest.mark.parametrize("kind", TRAINING)
@pytest.mark.filterwarnings("ignore")
def test_no_label_makes_the_lowest_values_of_any_counts_raise(kind):
    training = TRAINING[kind]
    odd = [*LABELS, *training.tolist()]
    y, units, names = as_labels(odd, training), Units.of(len(odd)), []
    for name, counts in counted_for(training):
        values = counts.lowest_values(y, len(odd))
        assert len(values) == len(odd), name
        counts.statistics(values, y, units)
        names.append(name)
    assert len(names) >= 6
