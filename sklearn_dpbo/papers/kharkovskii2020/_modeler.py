"""Bayesian optimisation over the rows of a released table (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...privacy.checks import check_number
from ...search._likelihood import default_kernel, fit_kernel
from ...search._surrogate import Kernel, Surrogate, single_threaded
from .bounds import ucb_beta

# Numbers of outcomes at which unknown parameters are learnt again.
_LEARN_AT = (5, 10, 20, 40, 80, 160, 320, 640)
_SHAPE = "squared_exponential"
# The square of a larger outcome would overflow.
_LARGEST = 1e100


class _Prior(NamedTuple):
    """Gaussian process on the noisy rows Z.

    The value of a row is the sum of a part that is correlated with other rows (of
    `shared_variance`) and one that is not (of `unshared_variance`). `noise_variance` is that of an
    outcome given the shared part.
    """

    length_scale: float
    mean: float
    shared_variance: float
    unshared_variance: float
    noise_variance: float


class Modeler:
    """GP-UCB over the rows of a released table; looks for the row with the largest outcome.

    This is the modeler's part of PO-GP-UCB (Kharkovskii, Dai and Low, ICML 2020, Algorithm 2). By
    row number, it asks for the outcome of the row with the largest ``mean_t + sqrt(beta_t) std_t``
    under a Gaussian process on the released table. With `input_noise`, the process is over the
    rows without noise: see the documentation, "Let another party optimise: Kharkovskii et al.
    (2020), PO-GP-UCB".

    Give all of `length_scale`, `noise`, `prior_mean` and `prior_scale`, for rows without the noise
    of the table. Or give none: they are learnt, by marginal likelihood of the first 5, 10, 20, 40,
    ... outcomes on Z.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_components)
        The released table.
    length_scale : float, default=None
        Length-scale of the squared exponential kernel, in units of Z; positive, like the scales
        below.
    noise : float, default=None
        Standard deviation of an outcome given the function, in units of prior_scale.
    prior_mean, prior_scale : float, default=None
        Mean of an outcome and standard deviation of the function under the prior.
    delta_ucb : float, default=0.05
        Controls the exploration; in (0, 1). All upper bounds hold with probability 1 - delta_ucb /
        2.
    input_noise : float, default=0.0
        Standard deviation of the noise on Z (the curator's `sigma_`); 0 or more.
    n_iter : int, default=100
        Number of outcomes to allocate memory for. More are possible, at the cost of a copy.
    repeat : bool, default=False
        Whether a row may be asked for again, as in the paper. This helps if each outcome of a row
        has new noise. `CuratorSide` measures each row once and repeats what it sent.

    Attributes
    ----------
    rows, values : list
        Rows whose outcomes are known, in the order of `tell`, and their outcomes. To continue
        later, save both, and tell them to a new modeler.
    pending : list of int
        Rows that were asked for and have no outcome yet.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dpbo.papers.kharkovskii2020 import Modeler
    >>> Z = np.linspace(0, 1, 50)[:, None]
    >>> modeler = Modeler(Z, length_scale=0.2, noise=0.01, prior_mean=0, prior_scale=1, n_iter=15)
    >>> for _ in range(15):
    ...     row = modeler.ask()
    ...     modeler.tell(row, -((Z[row, 0] - 0.3) ** 2))
    >>> modeler.best()[0]
    15
    """

    def __init__(
        self,
        Z: ArrayLike,
        *,
        length_scale: float | None = None,
        noise: float | None = None,
        prior_mean: float | None = None,
        prior_scale: float | None = None,
        delta_ucb: float = 0.05,
        input_noise: float = 0.0,
        n_iter: int = 100,
        repeat: bool = False,
    ) -> None:
        Z = np.array(Z, dtype=np.float64)
        if Z.ndim != 2 or not Z.size or not np.isfinite(Z).all():
            raise ValueError(f"Z must be a 2d array of finite numbers; found shape {Z.shape}")
        positive = {"length_scale": length_scale, "noise": noise, "prior_scale": prior_scale}
        for name, value in positive.items():
            check_number(name, value, "positive", lambda v: v > 0, optional=True)
        check_number("prior_mean", prior_mean, "a number", optional=True)
        if len({value is None for value in (*positive.values(), prior_mean)}) > 1:
            raise ValueError(
                f"give all of prior_mean, {', '.join(positive)}, or none of them; found "
                f"prior_mean={prior_mean!r}, {positive}"
            )
        check_number("delta_ucb", delta_ucb, "in (0, 1)", lambda v: 0 < v < 1)
        check_number("input_noise", input_noise, "0 or more", lambda v: v >= 0)
        check_number("n_iter", n_iter, "1 or more", lambda n: n >= 1, Integral)
        if n_iter > len(Z) and not repeat:
            raise ValueError(f"n_iter={n_iter} exceeds {len(Z)}, the number of rows")
        self._Z = Z
        self._n_iter = int(n_iter)
        self._repeat = bool(repeat)
        self._delta = float(delta_ucb)
        self._input_noise = float(input_noise)
        self._params = (length_scale, prior_mean, prior_scale, noise)
        self.rows: list[int] = []
        self.values: list[float] = []
        self.pending: list[int] = []
        self._model: Surrogate | None = None
        self._n_learnt = 0
        self._unshared_variance = 0.0

    @single_threaded
    def ask(self) -> int:
        """Return the number of the next row to evaluate.

        You may ask for several rows before you tell the first outcome. Pending rows count as if
        their outcome were the posterior mean, which spreads the rows (Desautels, Krause and
        Burdick, JMLR 2014).
        """
        asked = self.rows + self.pending
        excluded = [] if self._repeat else asked
        if len(excluded) == len(self._Z):
            raise ValueError(f"all {len(asked)} rows have been asked for")
        model = self._posterior()
        # Other rows' outcomes carry no information about the unshared part of a row's value.
        std = np.sqrt(model.variance + self._unshared_variance)
        bound = model.mean + math.sqrt(self.beta(len(asked) + 1)) * std
        bound[excluded] = -np.inf
        self.pending.append(int(np.argmax(bound)))
        return self.pending[-1]

    def tell(self, row: int | Sequence[int], value: float | Sequence[float]) -> None:
        """Record the outcome of a row, or the outcomes of several rows, whether asked for or not.

        Raises ValueError, and records nothing, if a row does not exist or, without `repeat`, has an
        outcome already, or if an outcome is not a finite number.
        """
        rows: list[Any] = list(np.atleast_1d(np.array(row, dtype=object)))
        values: list[Any] = list(np.atleast_1d(np.array(value, dtype=object)))
        if len(rows) != len(values):
            raise ValueError(
                f"tell needs one outcome per row; found {len(values)} for {len(rows)} rows"
            )
        told = set(self.rows)
        n = len(self._Z)
        for r, v in zip(rows, values, strict=True):
            row_numbers = f"numbered from 0 to {n - 1}", lambda r: 0 <= r < n
            check_number("a row", r, *row_numbers, Integral)
            if r in told and not self._repeat:
                raise ValueError(f"row {r} already has an outcome")
            expected = f"a finite number, at most {_LARGEST:g} in absolute value"
            check_number(f"the outcome of row {r}", v, expected, lambda v: abs(v) <= _LARGEST)
            told.add(r)
        self.values += [float(v) for v in values]
        for r in rows:
            self.rows.append(int(r))
            if r in self.pending:
                self.pending.remove(r)

    def best(self) -> tuple[int, float]:
        """Return the row with the best outcome so far, and that outcome."""
        if not self.rows:
            raise ValueError("there is no outcome yet: call tell first")
        best = int(np.argmax(self.values))
        return self.rows[best], self.values[best]

    def beta(self, t: int) -> float:
        """Return ``beta_t = 2 ln(n t^2 pi^2 / (6 delta'))``, with t from 1 on."""
        return ucb_beta(len(self._Z), t, self._delta / 2)

    def _posterior(self) -> Surrogate:
        """Condition the process on all outcomes, with pending rows at the posterior mean."""
        learns = self._params[0] is None
        n = max((t for t in _LEARN_AT if learns and t <= len(self.rows)), default=0)
        if self._model is None or n > self._n_learnt:
            prior = self._learnt(n) if learns else self._process()
            self._unshared_variance = prior.unshared_variance
            self._n_learnt = n
            kernel = Kernel(_SHAPE, prior.length_scale, prior.shared_variance)
            self._model = Surrogate.on(
                self._Z, kernel, prior.noise_variance, prior.mean, capacity=self._n_iter
            )
        n_used = len(self._model.picked)
        self._model = self._model.condition_all(self.rows[n_used:], self.values[n_used:])
        return self._model.condition_all(self.pending)

    def _process(self) -> _Prior:
        """Compute the prior on the noisy Z from the parameters, which are for exact rows."""
        length, mean, scale, noise = map(float, self._params)  # type: ignore[arg-type]  # none is None
        variance = scale**2
        squared_length = length**2 + 2 * self._input_noise**2
        shared = (length**2 / squared_length) ** (self._Z.shape[1] / 2) * variance
        unshared = variance - shared
        noise_variance = noise**2 * variance + unshared
        return _Prior(math.sqrt(squared_length), mean, shared, unshared, noise_variance)

    def _learnt(self, n: int) -> _Prior:
        """Learn the prior on Z under which the first n outcomes are most likely."""
        width = float(np.ptp(self._Z, axis=0).max()) or 1.0
        one_length = np.zeros(self._Z.shape[1], dtype=int)
        if n == 0:
            kernel = default_kernel(_SHAPE, one_length)
            length = float(np.ravel(kernel.length_scale)[0]) * width
            return _Prior(length, 0.0, 1.0, 0.0, 0.01)
        rows = self._Z[self.rows[:n]] / width
        kernel, noise_variance, mean = fit_kernel(
            rows, np.array(self.values[:n]), _SHAPE, one_length
        )
        length = float(np.ravel(kernel.length_scale)[0]) * width
        # Without the noise of Z the length-scale is shorter, and some of the noise that was learnt
        # is the unshared part of each row's value.
        l2 = max(length**2 - 2 * self._input_noise**2, 0.01 * length**2)
        share = (l2 / length**2) ** (self._Z.shape[1] / 2)
        unshared = min(kernel.variance * (1 / share - 1), noise_variance)
        return _Prior(length, mean, kernel.variance, unshared, noise_variance)
