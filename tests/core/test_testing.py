"""`seeded_noise`: reproducible inside, and nowhere else."""

import asyncio
import threading
from contextvars import copy_context

import joblib
import numpy as np
import pytest
from few import few
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.exceptions import PrivacyWarning
from sklearn_dpbo.learners import PrivateRidge
from sklearn_dpbo.privacy.noise import noise_source
from sklearn_dpbo.testing import seeded_noise


def drawn(n=8):
    noise = noise_source()
    return [noise.uniform(2**31) for _ in range(n)], noise.secure


def test_the_same_seed_gives_the_same_noise_and_each_fit_other_noise():
    with seeded_noise(3):
        first = [drawn() for _ in range(3)]
    with seeded_noise(3):
        assert [drawn() for _ in range(3)] == first
    numbers = [tuple(numbers) for numbers, _ in first]
    assert len(set(numbers)) == 3
    rng = np.random.default_rng(3)
    assert list(numbers[0]) == [int(rng.integers(2**31)) for _ in range(8)]
    assert seeded_noise(3)(drawn)() == first[0]


def test_inner_seeds_end_and_errors_end_them():
    with seeded_noise(0):
        drawn()
        with pytest.raises(KeyError), seeded_noise(1):
            raise KeyError
        after = drawn()
    with seeded_noise(0):
        drawn()
        assert drawn() == after
    assert drawn()[1], "the operating system's noise"


def test_no_other_thread_draws_seeded_noise():
    secure = []

    def look():
        secure.append(drawn(1)[1])

    with seeded_noise(0):
        for context in (None, copy_context()):
            thread = threading.Thread(target=look if context is None else lambda: context.run(look))
            thread.start()
            thread.join()

        async def elsewhere():
            await asyncio.to_thread(look)

        asyncio.run(elsewhere())
    assert secure == [True, True, True]


def test_no_seed_outlives_its_statement():
    def inside(seed):
        with seeded_noise(seed):
            yield

    first, second = inside(0), inside(1)
    next(first), next(second)
    assert not drawn(1)[1]
    first.close(), second.close()  # in another order than they began
    assert drawn(1)[1]
    with seeded_noise(0):
        context = copy_context()
    assert context.run(drawn, 1)[1]


@pytest.mark.parametrize("backend", few(["threading", "loky"]))
def test_models_that_are_fitted_in_workers_are_seeded_alike(backend):
    X = np.linspace(-1, 1, 40)[:, None]
    ridge = PrivateRidge(y_bounds=(-1, 1), bounds=(-1, 1))

    def coefficients(n_jobs):
        search = PrivateBayesSearchCV(ridge, {"alpha": [0.1, 1.0]}, epsilon=1e5, n_jobs=n_jobs)
        with seeded_noise(0), joblib.parallel_config(backend):
            search.fit(X, X[:, 0], X_val=X[:20].copy(), y_val=X[:20, 0].copy())
        assert not search.best_estimator_.privacy_.secure and not search.privacy_.secure
        return search.best_estimator_.coef_.tolist()

    assert coefficients(1) == coefficients(2)


def test_it_warns_where_it_is_entered():
    with pytest.warns(PrivacyWarning, match="NOT private") as caught, seeded_noise(0):
        pass
    assert caught[0].filename == __file__


@pytest.mark.parametrize("seed", [-1, 0.5, True, None, "0"])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises(ValueError, match="seed must be a whole number"), seeded_noise(seed):
        pass


def test_what_is_made_outside_is_private_inside(two_classes):
    X, y, X_val, y_val = two_classes
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [1.0]})
    search.fit(X, y, X_val=X_val, y_val=y_val)
    with seeded_noise(0):
        assert search.privacy_.secure
