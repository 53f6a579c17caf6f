"""Plans for one table: they say what the search does."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV, plan_search
from sklearn_dpbo._privacy.zcdp import delta_of_zcdp, zcdp_within
from sklearn_dpbo.learners import PrivateLogisticRegression, PrivateTraining
from sklearn_dpbo.planning import OneTablePlan, UtilityBounds
from sklearn_dpbo.planning._bounds import utility_of
from sklearn_dpbo.strategies import OneTable

LOGISTIC = PrivateLogisticRegression(max_iter=2, classes=[0, 1], bounds=(-3, 3))


class Declared(ClassifierMixin, BaseEstimator):
    """An estimator with a given declaration, which a plan does not fit."""

    def __init__(self, composition="pure", neighbours="replace-one"):
        self.composition, self.neighbours = composition, neighbours

    def private_training(self):
        delta = None if self.composition == "pure" else "delta"
        return PrivateTraining(self.composition, delta=delta, neighbours=self.neighbours)


def plan(m=20_000, estimator=LOGISTIC, epsilon=1.0, delta=1e-6, **params):
    return plan_search(
        m, epsilon=epsilon, delta=delta, estimator=estimator, protect="all", **params
    )


@pytest.mark.parametrize("accounting", ["compose", "repeat"])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_brier_score"])
def test_a_plan_says_what_a_search_does(accounting, scoring, one_table):
    X, y = one_table
    strategy = OneTable(accounting, n_fits=3, score_share=0.3, test_size=0.25)
    found = plan(len(X), strategy=strategy, counts=scoring == "accuracy")
    search = PrivateBayesSearchCV(
        LOGISTIC, {"C": [0.1, 1.0, 10.0]}, delta=1e-6, protect="all", strategy=strategy,
        scoring=scoring,
    ).fit(X, y)  # fmt: skip
    report = search.privacy_
    training, choice, score = report.spends
    assert (found.n, found.n - found.m) == (report.m, 150)
    assert f"fitted on 150 records and compared on the other {found.m};" in report.protected
    assert found.runs.number in training.mechanism
    assert f"epsilon={found.fit_epsilon:.3g}, delta=1e-06" in training.mechanism
    assert search.best_estimator_.epsilon == found.fit_epsilon
    assert found.epsilon_select == pytest.approx(choice.epsilon)
    assert found.epsilon_score == pytest.approx(score.epsilon)
    low, high = search.best_score_interval_
    if low > search.scorer_.bounds[0] and high < search.scorer_.bounds[1]:
        assert found.score_error == pytest.approx((high - low) / 2, rel=1e-3)


@pytest.fixture
def one_table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    return X, (X[:, 0] > 0).astype(int)


def test_fits_share_epsilon_as_their_guarantee_composes():
    four = OneTable("compose", n_fits=4)
    rho = zcdp_within(1.0, 1e-6) / 4
    assert delta_of_zcdp(rho, plan(strategy=four).fit_epsilon) == pytest.approx(1e-6, rel=1e-3)
    pure = plan(estimator=Declared(), delta=0.0, strategy=four)
    assert pure.fit_epsilon == pytest.approx(0.25) and pure.fit_delta == 0
    twice = Declared(neighbours="add-or-remove-one")
    assert plan(estimator=twice, delta=0.0, strategy=four).fit_epsilon == pytest.approx(0.125)
    rough = plan(estimator=Declared("approximate"), strategy=four)
    assert (rough.fit_epsilon, rough.fit_delta) == pytest.approx((0.25, 2.5e-7))
    repeated = plan(estimator=Declared(), delta=0.0, strategy=OneTable("repeat", n_fits=9, eta=0.0))
    assert repeated.fit_epsilon == pytest.approx(0.5) and repeated.n_candidates == 9


def test_errors_are_those_of_the_second_part():
    found = plan(strategy=OneTable("compose", n_fits=4))
    alone = UtilityBounds(4_000, 4, 1.0)
    for error in ("regret", "expected_regret", "score_error", "sampling_error"):
        assert getattr(found, error) == getattr(alone, error)
    one = plan(strategy=OneTable("compose", n_fits=1))
    assert one.regret == 0 and one.epsilon_score == pytest.approx(0.4)
    assert one.fit_epsilon == 1.0


def test_a_plan_prints_what_it_found():
    text = " ".join(str(plan(strategy=OneTable("repeat", n_fits=16, eta=0.0))).split())
    for part in ("a table of 20,000 records (or groups), all of which are protected, epsilon = 1",
                 "a secret number of fits (16 on average) of PrivateLogisticRegression on 16,000",
                 "each with epsilon = 0.561, delta = 1e-06; together epsilon = 1, delta = 1e-06",
                 "on the other 4,000 records: if 16 are fitted, the chosen model's score is within "
                 "0.004", "the released score is within 0.00175"):  # fmt: skip
        assert part in text
    assert "if" not in " ".join(str(plan(strategy=OneTable("compose"))).split()).split("Score")[0]
    assert isinstance(plan(), OneTablePlan) and len(plan().table()) == 25


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"m": None}, "m is the number of records of the table"),
        ({"m": 2}, "2 records cannot be split into two parts"),
        ({"epsilon": None}, "epsilon is a number from 1e-9 up"),
        ({"delta": 1.0}, r"delta is in \[0, 1\)"),
        ({"delta": 0.0}, "delta is 0"),
        ({"n_iter": None}, "n_iter is a whole number from 1 up"),
        ({"estimator": LogisticRegression()}, "does not protect the records that it is fitted on"),
        ({"estimator": None}, "pass estimator=, one that trains privately"),
        ({"strategy": "worst_case"}, r"takes strategy=OneTable\(...\); found 'worst_case'"),
        ({"strategy": OneTable(test_size=2.0)}, "test_size is None or strictly between 0 and 1"),
        ({"target_regret": 0.1, "score_share": 0.3}, 'score_share: not with protect="all"'),
        ({"scoring": "f1"}, 'scoring: not with protect="all"'),
    ],
)
def test_plans_that_make_no_sense_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        plan(**params)


def test_what_is_for_one_table_is_refused_elsewhere():
    with pytest.raises(ValueError, match='delta and strategy: not without protect="all"'):
        plan_search(epsilon=1.0, target_regret=0.1, delta=1e-6, strategy=OneTable())
    with pytest.raises(ValueError, match='protect is "validation" or "all"; found \'train\''):
        plan_search(epsilon=1.0, target_regret=0.1, protect="train")


def test_the_utility_of_a_search_on_one_table_is_not_that_of_its_number_of_records(one_table):
    search = PrivateBayesSearchCV(LOGISTIC, {"C": [0.1, 1.0]}, delta=1e-6, protect="all")
    with pytest.raises(ValueError, match="a search on one table compares models on a part"):
        utility_of(search.fit(*one_table))
