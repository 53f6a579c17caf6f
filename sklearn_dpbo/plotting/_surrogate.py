"""`SurrogateDisplay`: a surrogate fitted to public scores (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._gp.surrogate import single_threaded
from .._space.space import Points, SearchSpace
from ..scoring._make import selecting_scorer
from ..strategies._proposals import Domain, PublicModel
from ._common import BLUE, VERMILION, figure_and_axes, legend_above
from ._parameters import ParameterAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection, QuadMesh
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.container import ErrorbarContainer
    from matplotlib.lines import Line2D

__all__ = ["SurrogateDisplay"]

# Points per parameter, over one parameter and over two.
_N_LINE, _N_PLANE = 201, 61
_REFUSED = (
    "{}. A surrogate is drawn from scores within the training set only: use "
    'strategy=WorstCase(guidance="public"), with at least 8 evaluations in a space of '
    "more than n_iter points. A surrogate fitted to scores on the validation set would show these "
    "scores, which are private"
)


class SurrogateDisplay:
    """The Gaussian process of public guidance over one or two parameters.

    Create it with `from_search`. The process is fitted only to the *public* scores of a search,
    those within the training set, and so says nothing about the validation set.

    Parameters
    ----------
    parameter : ParameterAxis
        First parameter, with the points at which the process was evaluated.
    second : ParameterAxis or None
        Second parameter at the same points; None draws a line over the first one.
    mean, std : ndarray of shape (n_points,)
        Posterior mean and standard deviation at the points, in units of the score.
    seen, scores : tuple of ndarray, ndarray of shape (n_scores,)
        Positions of the candidates with a public score, one array per parameter, and these scores.
    at : dict
        Values of the parameters that are not drawn.
    score_name : str, default="score"
        Name of the score, for labels.

    Attributes
    ----------
    ax_, figure_, legend_ : matplotlib Axes, Figure and Legend
    mean_ : matplotlib Line2D, ErrorbarContainer or QuadMesh
        A line, points with error bars over categories, or a plane. A plane shows the standard
        deviation if ``what="std"``.
    band_ : matplotlib FillBetweenPolyCollection or None
        Two standard deviations on either side of the line; None without a line.
    scores_ : matplotlib PathCollection
        Markers of the public scores.
    colorbar_ : matplotlib Colorbar or None
        None without a plane.
    """

    def __init__(
        self,
        parameter: ParameterAxis,
        second: ParameterAxis | None,
        *,
        mean: NDArray[np.float64],
        std: NDArray[np.float64],
        seen: tuple[NDArray[np.float64], ...],
        scores: NDArray[np.float64],
        at: Mapping[str, Any],
        score_name: str = "score",
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
    def from_search(
        cls,
        search: Any,
        parameter: str,
        second: str | None = None,
        *,
        at: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the surrogate of a fitted search; `ax` and other arguments are those of `plot`.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            A fitted search with public scores: ``guidance="public"``.
        parameter : str
            Name of the parameter on the horizontal axis.
        second : str, default=None
            Name of the parameter on the vertical axis; None draws a line over the first one.
        at : dict, default=None
            Values of the other parameters. Those that are missing (all, if None) are taken from
            the chosen candidate; or, if it does not have the parameters to draw, from the
            candidate with the highest public score that has them.
        """
        model, explored = _public_model(search)
        names = [parameter] if second is None else [parameter, second]
        fixed = _complete_params(at, model.space, _base_params(search, model, explored, names))
        if missing := [name for name in names if name not in fixed]:
            raise ValueError(f"the candidate {fixed} has no parameter {missing[0]!r}")
        points = _grid_points(model.space, fixed, names)
        mean, std = _posterior(model, points)
        evaluated = model.space.params(points)
        scored = [i for i, params in enumerate(explored) if set(names) <= set(params)]
        axes = [
            ParameterAxis.of(
                name, _column(name, [*evaluated, *(explored[i] for i in scored)]), search.param_grid
            )
            for name in names
        ]
        n = len(evaluated)
        drawn = [ParameterAxis(a.name, a.positions[:n], a.scale, a.marks) for a in axes]
        display = cls(
            drawn[0],
            None if second is None else drawn[1],
            mean=mean,
            std=std,
            seen=tuple(axis.positions[n:] for axis in axes),
            scores=model.scores[scored],
            at={name: value for name, value in fixed.items() if name not in names},
            score_name=selecting_scorer(search).name,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        what: str = "mean",
        cmap: str | Colormap = "cividis",
        colorbar: bool = True,
    ) -> Self:
        """Draw the surrogate on `ax`, or in a new figure.

        Parameters
        ----------
        what : {"mean", "std"}, default="mean"
            What colour shows over two parameters: the mean or the standard deviation.
        cmap : str or Colormap, default="cividis"
            Colour map over two parameters.
        colorbar : bool, default=True
            Whether to add a colour bar over two parameters.
        """
        if what not in ("mean", "std"):
            raise ValueError(f'what is "mean" or "std"; found {what!r}')
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 4.8))
        self.mean_: Line2D | ErrorbarContainer | QuadMesh
        self.band_: FillBetweenPolyCollection | None = None
        self.colorbar_: Colorbar | None = None
        if self.second is None:
            self._plot_line()
        else:
            self._plot_plane(self.second, what, cmap, colorbar)
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
        self.scores_ = self.ax_.scatter(
            self.seen[0],
            self.scores,
            s=22,
            facecolors="none",
            edgecolors=VERMILION,
            zorder=3,
            label="public scores" + " (all candidates)" * bool(self.at),
        )
        self.parameter.apply(self.ax_, "x")
        self.ax_.set_ylabel(f"{self.score_name} within the training set")

    def _plot_plane(
        self, second: ParameterAxis, what: str, cmap: str | Colormap, colorbar: bool
    ) -> None:
        x, y = np.unique(self.parameter.positions), np.unique(second.positions)
        order = np.lexsort((self.parameter.positions, second.positions))
        values = {"mean": self.mean, "std": self.std}[what][order].reshape(len(y), len(x))
        edges = self.parameter.edges(x), second.edges(y)
        mesh = self.ax_.pcolormesh(*edges, values, cmap=cmap, rasterized=True)
        self.mean_ = mesh
        self.scores_ = self.ax_.scatter(
            self.seen[0],
            self.seen[1],
            s=30,
            facecolors="none",
            edgecolors=VERMILION,
            linewidths=1.4,
            label="public scores" + " (all candidates)" * bool(self.at),
        )
        self.parameter.apply(self.ax_, "x")
        second.apply(self.ax_, "y")
        if colorbar:
            quantity = {"mean": "mean", "std": "standard deviation"}[what]
            self.colorbar_ = self.figure_.colorbar(mesh, ax=self.ax_)
            self.colorbar_.set_label(f"{quantity} of {self.score_name} within the training set")


def _public_model(search: Any) -> tuple[PublicModel, list[dict[str, Any]]]:
    """Return the surrogate of public guidance, and the candidates that it is fitted to."""
    check_is_fitted(search, "cv_results_")
    if search.privacy_.assumption is not None:
        raise ValueError(
            _REFUSED.format(f"{search.strategy!r} fits its surrogate to scores that stay private")
        )
    results = search.cv_results_
    explored = np.flatnonzero(~np.asarray(results["validated"]))
    scores = results["public_score"][explored]
    if np.sum(~np.isnan(scores)) < 2:
        raise ValueError(_REFUSED.format("this search has no public scores"))
    candidates = [results["params"][i] for i in explored]
    space = SearchSpace(search.param_grid)
    points = Points.concatenate([space.locate(params) for params in candidates])
    return single_threaded(PublicModel.learn)(space, points, scores), candidates


def _base_params(
    search: Any, model: PublicModel, explored: list[dict[str, Any]], names: list[str]
) -> dict[str, Any]:
    """Return the chosen candidate, or the best explored one that has these parameters."""
    chosen: dict[str, Any] = search.best_params_
    if set(names) <= set(chosen):
        return chosen
    best_first: list[int] = np.argsort(-model.scores).tolist()
    for i in best_first:
        if set(names) <= set(explored[i]):
            return explored[i]
    raise ValueError(
        f"no explored candidate has the parameters {names}: the search has {model.space.names}"
    )


def _complete_params(
    at: Mapping[str, Any] | None, space: SearchSpace, base: dict[str, Any]
) -> dict[str, Any]:
    """Return `at` if it is a complete candidate of the space, else `base` updated with it."""
    given = dict(at or base)
    try:
        space.locate(given)
        return given
    except ValueError:
        return base | given


def _grid_points(space: SearchSpace, params: dict[str, Any], names: Sequence[str]) -> Points:
    """Return a grid over the named parameters, with the others as in `params`."""
    base = space.locate(params)
    axes = space.subspaces[int(base.subspace[0])]
    u = np.linspace(0, 1, _N_LINE if len(names) == 1 else _N_PLANE)
    grids = np.meshgrid(*(np.unique(axes[name].snap(u)) for name in names))
    unit = np.repeat(base.unit, grids[0].size, axis=0)
    for name, grid in zip(names, grids, strict=True):
        unit[:, space.names.index(name)] = grid.ravel()
    return Points(np.repeat(base.subspace, len(unit)), unit)


@single_threaded
def _posterior(
    model: PublicModel, points: Points
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    domain = Domain.of(model.space, [model.points, points])
    posterior, rows = model.on(domain, len(model.points)), domain.find(points)
    return posterior.mean[rows], posterior.std[rows]


def _column(name: str, candidates: Sequence[Mapping[str, Any]]) -> np.ma.MaskedArray[Any, Any]:
    column: np.ma.MaskedArray[Any, Any] = np.ma.MaskedArray(
        np.empty(len(candidates), dtype=object), mask=False
    )
    for i, params in enumerate(candidates):
        column[i] = params[name]
    return column
