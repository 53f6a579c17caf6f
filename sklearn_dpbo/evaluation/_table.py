"""The table of a paper: numbers of an evaluation, with intervals (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["ScoreTable"]


class ScoreTable:
    """The part of an `Evaluation` that makes tables."""

    def table(
        self: Any,
        metrics: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        by: bool | str | Sequence[str] | None = None,
        digits: int = 2,
        interval: str = "population",
    ) -> DataFrame:
        """Return numbers with their intervals as a frame, for a paper.

        Parameters
        ----------
        metrics : list of str or dict, default=None
            Names for `score`; or by the label of each row, its name, or a pair of its name and a
            dict of further parameters of `score`, as in ``{"AUC": "roc_auc", "Sensitivity at 20 %":
            ("sensitivity", {"threshold": 0.2})}``. None is what `scores` returns.
        by : bool, str or list of str, default=None
            Columns of ``subgroups=`` that divide the records, True is all of them: there is a row
            for each subgroup, too. None is all records together.
        digits : int, default=2
            Decimals of "text".
        interval : {"population", "records"}, default="population"
            As in `score`.

        Returns
        -------
        table : pandas.DataFrame
            A row for each metric (and subgroup), with the columns "value", "low" and "high" and
            "text", such as "0.87 (0.84 to 0.90)"; by subgroup also those of `by_group`, and "text"
            is "too few to tell" where the interval is too wide. Its methods `to_latex` (which needs
            jinja2), `to_html` and `to_csv` write it down.
        """
        import pandas as pd

        metrics = self._names if metrics is None else metrics
        named = (
            metrics if isinstance(metrics, Mapping) else dict(zip(metrics, metrics, strict=True))
        )
        rows = {}
        for label, of in named.items():
            name, options = (of, {}) if isinstance(of, str) else of
            options = {"interval": interval} | options
            own = pd.DataFrame([self.score(name, **options)], index=["all"])
            rows[label] = own
        table = pd.concat(rows, names=["metric"]).droplevel(1)
        numbers = table[["value", "low", "high"]].round(digits) + 0.0  # no "-0.00"
        table["text"] = [
            f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
            for value, low, high in numbers.itertuples(index=False)
        ]
        return table
