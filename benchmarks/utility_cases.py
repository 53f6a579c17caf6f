"""Problems as searches see them: what a setting is worth, and an estimator that replays a table.

This module is apart from `utility.py` so that estimators are pickled by the name of their class.
"""

import tables  # first: it sets the number of threads
from problems import ALL

# isort: split
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from sklearn_dpbo import make_private_scorer

POOL = 512
LIVE = {"census", "census_600", "houses", "spam_linear", "spam_pipeline", "readmission"}
ABSOLUTE_ERROR = make_private_scorer("neg_mean_absolute_error", bounds=(-1, 0))


class Case:
    """A problem, possibly with a shift: what a setting is worth, and data for searches.

    Attributes
    ----------
    own : dict
        The estimator's own setting.
    pool : ndarray or None
        Validation scores of the pool, if the problem is tabulated.
    """

    def __init__(self, name, folder):
        problem_name, _, shift = name.partition("/")
        self.key, self.live = name, problem_name in LIVE
        if self.live:
            problem, self.table = ALL[problem_name](np.random.default_rng(0)), None
        else:
            problem, self.table = tables.load(problem_name, folder, POOL)
        self.name = problem.name + (f", {shift}" if shift else "")
        self.problem, self.space = problem, problem.space
        self.own = tables.own_setting(problem)
        self.regression = problem.bounds is not None
        self.scoring = ABSOLUTE_ERROR if self.regression else problem.scoring
        self.models, self.seen, self.pool, self.cut = {}, {}, None, None
        (X, y), (X_val, y_val) = problem.train, problem.val
        rows = np.arange(len(y_val))
        if shift:
            rows = rows[problem.shifts[shift](X_val, y_val)]
        groups = None if problem.groups is None else problem.groups[rows]
        self.m = len(rows) if groups is None else len(np.unique(groups))
        self.val = X_val[rows], y_val[rows], groups
        self.test = *problem.test, problem.test_groups
        if not self.live:
            self.known = tables.scores(problem, self.table.full_val[:, rows], *self.val[1:])
            self.pool = self.known[: len(self.table.pool)]
            inner = self.table.inner_rows
            self.cut = [(inner, np.setdiff1d(np.arange(len(y)), inner))]
            X, X_val = numbers(X), np.arange(len(y_val))[:, None]
            CASES[name] = self
        self.data = dict(X=X, y=y, X_val=X_val[rows], y_val=y_val[rows], groups_val=groups)

    def _fitted(self, setting):
        """The model of a live problem, fitted on the whole training set."""
        key = repr(sorted(setting.items()))
        if key not in self.models:
            model = clone(self.problem.estimator).set_params(**setting)
            self.models[key] = model.fit(*self.problem.train)
        return key, self.models[key]

    def _measured(self, model, X, y, groups):
        if self.problem.scoring == "ramp":
            return make_private_scorer("ramp")(model, X, y)
        responses = tables.response(self.problem, model, X)[None]
        return tables.scores(self.problem, responses, y, groups)[0]

    def score(self, setting):
        """Validation score of a setting that is fitted on the whole training set."""
        if not self.live:
            return self.known[self.table.nearest(setting)]
        key, model = self._fitted(setting)
        if key not in self.seen:
            self.seen[key] = self._measured(model, *self.val), setting
        return self.seen[key][0]

    def test_score(self, setting):
        """Test score of the same model."""
        if not self.live:
            responses = self.table.full_test[[self.table.nearest(setting)]]
            return tables.scores(self.problem, responses, *self.test[1:])[0]
        return self._measured(self._fitted(setting)[1], *self.test)

    def best(self):
        """(validation, test) score of the best setting of the pool, or of all that were tried."""
        if self.live:
            score, setting = max(self.seen.values(), key=lambda found: found[0])
        else:
            score, setting = self.pool.max(), self.table.settings[self.pool.argmax()]
        return score, self.test_score(setting)

    def estimator(self):
        if self.live:
            return self.problem.estimator
        if self.problem.scoring in tables.RANKINGS:
            return ReplayRanking(self.key, **self.own)
        return ReplayClassifier(self.key, **self.own)


# The case that is looked up, by name: an estimator that held it would be pickled with a table.
CASES = {}


def numbers(X):
    """Training records from -1 down; copies of a record have its number."""
    _, first, which = np.unique(X, axis=0, return_index=True, return_inverse=True)
    return -1 - first[which.ravel()][:, None]


class Replay(BaseEstimator):
    """Gives the responses of the table's nearest setting, fitted on as many rows.

    Rows are numbers: validation records from 0 up, training records from -1 down.
    """

    def __init__(self, case, **setting):
        self.case, self.setting = case, setting

    def get_params(self, deep=True):
        return {"case": self.case, **self.setting}

    def set_params(self, **params):
        self.setting = {**self.setting, **params}
        return self

    def __sklearn_clone__(self):
        return type(self)(self.case, **self.setting)

    def fit(self, X, y):
        table = CASES[self.case].table
        sizes = {len(table.full_train[0]): "full", len(table.inner_rows): "inner"}
        self.part_, self.nearest_ = sizes[len(X)], table.nearest(self.setting)
        self.classes_ = np.unique(y)
        return self

    def _found(self, X):
        table, row = CASES[self.case].table, X[:, 0]
        val = getattr(table, f"{self.part_}_val")[self.nearest_]
        train = getattr(table, f"{self.part_}_train")[self.nearest_]
        return np.where(row >= 0, val[np.maximum(row, 0)], train[np.maximum(-1 - row, 0)])


class ReplayClassifier(ClassifierMixin, Replay):
    def predict(self, X):
        return self._found(X)


class ReplayRanking(ClassifierMixin, Replay):
    def decision_function(self, X):
        return self._found(X)
