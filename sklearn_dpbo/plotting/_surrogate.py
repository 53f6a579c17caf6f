"""`SurrogateDisplay`: what a surrogate makes of public scores (zone: released)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._gp.threads import single_threaded
from .._space.space import Points, SearchSpace
from ..scoring._make import selecting_scorer
from ..strategies._proposals import Domain, PublicModel
from ..strategies._worst_case import WorstCase
from ._common import BLUE, VERMILION, axes_for, legend_above
from ._parameters import ParameterAxis

__all__ = ["SurrogateDisplay"]

_N_LINE, _N_PLANE = 201, 61
_REFUSED = (
    "{}. Only scores within the training set may be drawn from: strategy=WorstCase(guidance="
    '"public") or "both" has them, with 8 evaluations or more in a space of more than n_iter '
    "points. A surrogate fitted to scores on the validation set would show those, which are private"
)


class SurrogateDisplay:
    """Mean and band of the Gaussian process behind public guidance, over one or two parameters.

    Make it with `from_search`. The process is fitted to the *public* scores of a search, those
    within the training set, and to nothing else; it says nothing of the validation set.

    Parameters
    ----------
    parameter : ParameterAxis
        Places at which the process was asked, all of them if `second` is given as well.
    second : ParameterAxis or None
    mean, std : ndarray of shape (n_places,)
    seen : tuple of ndarray of shape (n_seen,)
        Places of the scores: in one parameter, or in both.
    scores : ndarray of shape (n_seen,)
    at : dict
        Values of the other parameters.
    score_name : str, default="score"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    mean_ : matplotlib Line2D, ErrorbarContainer or QuadMesh
    band_ : matplotlib FillBetweenPolyCollection or None
        Two standard deviations on either side, of a line.
    scores_ : matplotlib PathCollection
    colorbar_ : matplotlib Colorbar or None
    legend_ : matplotlib Legend
    """

    def __init__(
        self, parameter, second, *, mean, std, seen, scores, at, score_name="score"
    ) -> None:
        self.parameter = parameter
        self.second = second
        self.mean = mean
        self.std = std
        self.seen = seen
        self.scores = scores
        self.at = at
        self.score_name = score_name

    @classmethod
    def from_search(cls, search, parameter, second=None, *, at=None, ax=None, **kwargs) -> Self:
        """Fit the surrogate to the public scores of a fitted search, and draw it.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            With public scores: ``guidance="public"`` or ``"both"``.
        parameter : str
        second : str, default=None
        at : dict, default=None
            Where other parameters stand; those that it does not name, and all if it is None, stand
            where the chosen setting has them; or, if that does not have the parameters to draw,
            the best in public of those that do. What is drawn stays within its dict of param_grid.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            As `plot` takes them.

        Returns
        -------
        display : SurrogateDisplay

        Raises
        ------
        NotFittedError
            If the search has not been fitted.
        ValueError
            If there are no public scores, or a parameter is not there.
        """
        model, settings = _public_model(search)
        names = [parameter] if second is None else [parameter, second]
        at = _completed(at, model.space, _setting(search, model, settings, names))
        if missing := [name for name in names if name not in at]:
            raise ValueError(f"the setting {at} has no parameter {missing[0]!r}")
        places = _places(model.space, at, names)
        mean, std = _posterior(model, places)
        asked = model.space.candidates(places).params
        having = [i for i, setting in enumerate(settings) if set(names) <= set(setting)]
        axes = [
            ParameterAxis.of(
                name, _column(name, [*asked, *(settings[i] for i in having)]), search.param_grid
            )
            for name in names
        ]
        n = len(asked)
        display = cls(
            *(ParameterAxis(a.name, a.positions[:n], a.scale, a.marks) for a in axes),
            *(None for _ in range(2 - len(names))),
            mean=mean,
            std=std,
            seen=tuple(axis.positions[n:] for axis in axes),
            scores=model.scores[having],
            at={name: value for name, value in at.items() if name not in names},
            score_name=selecting_scorer(search).name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, what="mean", cmap="cividis", colorbar=True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        what : {"mean", "std"}, default="mean"
            Over two parameters: what colour stands for.
        cmap : str or Colormap, default="cividis"
        colorbar : bool, default=True

        Returns
        -------
        self : SurrogateDisplay
        """
        if what not in ("mean", "std"):
            raise ValueError(f'what is "mean" or "std"; found {what!r}')
        self.figure_, self.ax_ = axes_for(ax, (6.4, 4.8))
        self.colorbar_: Any = None
        if self.second is None:
            self._plot_line()
        else:
            self._plot_plane(what, cmap, colorbar)
        self.legend_ = legend_above(self.ax_)
        return self

    def _plot_line(self) -> None:
        x, width = self.parameter.positions, 2 * self.std
        if self.parameter.is_numeric(x):
            (self.mean_,) = self.ax_.plot(x, self.mean, color=BLUE, label="mean")
            self.band_ = self.ax_.fill_between(
                x,
                self.mean - width,
                self.mean + width,
                color=BLUE,
                alpha=0.25,
                lw=0,
                label="2 standard deviations",
            )
        else:
            self.mean_ = self.ax_.errorbar(
                x, self.mean, width, fmt="o", color=BLUE, capsize=4, label="mean, 2 std. deviations"
            )
            self.band_ = None
        self.scores_ = self.ax_.scatter(
            *self.seen,
            self.scores,
            s=22,
            facecolors="none",
            edgecolors=VERMILION,
            zorder=3,
            label="public scores" + " (all settings)" * bool(self.at),
        )
        self.parameter.apply(self.ax_, "x")
        self.ax_.set_ylabel(f"{self.score_name} within the training set")

    def _plot_plane(self, what: str, cmap, colorbar: bool) -> None:
        x, y = np.unique(self.parameter.positions), np.unique(self.second.positions)
        rows = np.lexsort((self.parameter.positions, self.second.positions))
        values = {"mean": self.mean, "std": self.std}[what][rows].reshape(len(y), len(x))
        edges = self.parameter.edges(x), self.second.edges(y)
        self.mean_ = self.ax_.pcolormesh(*edges, values, cmap=cmap, rasterized=True)
        self.band_ = None
        self.scores_ = self.ax_.scatter(
            *self.seen,
            s=30,
            facecolors="none",
            edgecolors=VERMILION,
            linewidths=1.4,
            label="public scores" + " (all settings)" * bool(self.at),
        )
        self.parameter.apply(self.ax_, "x")
        self.second.apply(self.ax_, "y")
        if colorbar:
            named = {"mean": "mean", "std": "standard deviation"}[what]
            self.colorbar_ = self.figure_.colorbar(self.mean_, ax=self.ax_)
            self.colorbar_.set_label(f"{named} of {self.score_name} within the training set")


def _public_model(search) -> tuple[PublicModel, list[dict]]:
    """Return the process behind public guidance, and the settings that it saw."""
    check_is_fitted(search, "cv_results_")
    if search.privacy_.assumption is not None:
        raise ValueError(_REFUSED.format(f"{search.strategy!r} follows scores in secret"))
    results = search.cv_results_
    explored = np.flatnonzero(~np.asarray(results["validated"]))
    scores = results["public_score"][explored]
    if np.sum(~np.isnan(scores)) < 2:
        raise ValueError(_REFUSED.format("this search has no public scores"))
    settings = [results["params"][i] for i in explored]
    space = SearchSpace(search.param_grid)
    points = Points.concatenate([space.locate(setting) for setting in settings])
    strategy = search.strategy if isinstance(search.strategy, WorstCase) else WorstCase()
    learn = single_threaded(PublicModel.learn)
    return learn(space, points, scores, strategy.kernel), settings


def _setting(search, model: PublicModel, settings: list[dict], names: list[str]) -> dict:
    """Return the setting chosen, or the best public one that has these parameters."""
    if set(names) <= set(search.best_params_):
        return search.best_params_
    order = np.argsort(-model.scores)
    having = [settings[i] for i in order if set(names) <= set(settings[i])]
    if not having:
        raise ValueError(
            f"no setting that was explored has the parameters {names}: the search has "
            f"{model.space.names}"
        )
    return having[0]


def _completed(at, space: SearchSpace, base: dict) -> dict:
    """Return a setting as it was given if it is a whole one, else the rest of it from `base`."""
    try:
        space.locate(at or base)
        return at or base
    except ValueError:
        return base | at


def _places(space: SearchSpace, at: dict, names: list[str]) -> Points:
    """Return points on a grid of these parameters, the others standing where they are."""
    base = space.locate(at)
    axes = space.subspaces[int(base.subspace[0])]
    u = np.linspace(0, 1, _N_LINE if len(names) == 1 else _N_PLANE)
    grids = np.meshgrid(*(np.unique(axes[name].snap(u)) for name in names))
    unit = np.repeat(base.unit, grids[0].size, axis=0)
    for name, grid in zip(names, grids, strict=True):
        unit[:, space.names.index(name)] = grid.ravel()
    return Points(np.repeat(base.subspace, len(unit)), unit)


@single_threaded
def _posterior(model: PublicModel, places: Points) -> tuple[np.ndarray, np.ndarray]:
    domain = Domain.of(model.space, [model.points, places])
    posterior, rows = model.on(domain, len(model.points)), domain.find(places)
    return posterior.mean[rows], posterior.std[rows]


def _column(name: str, settings: list[dict]) -> np.ma.MaskedArray:
    column = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=False)
    for i, setting in enumerate(settings):
        column[i] = setting[name]
    return column
