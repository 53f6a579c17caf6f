"""What a notebook shows: cards of labelled facts, beneath scikit-learn's diagrams (zone: released).

Only released values and public facts come here. A card is one HTML element without ids, scripts or
anything that is loaded. Its colours are the page's own, made lighter: so it fits light and dark
pages without asking which one it is on.
"""

from __future__ import annotations

import html
import textwrap
from types import SimpleNamespace

import numpy as np

__all__ = ["ShowsEstimatorAndPrivacy", "ShowsPrivacy", "card"]

# The doubled class outweighs what notebooks say of tables. A container query, not one for the
# window: a cell can be narrow on a wide screen.
_STYLE = """
.sklearn-dpbo.sklearn-dpbo {container-type: inline-size; max-width: 56em; margin: 0.5em 0.4em;
  border: 1px solid; border-color: rgba(128, 128, 128, 0.45); border-radius: 0.25em;
  line-height: 1.4; text-align: left; overflow-wrap: anywhere}
.sklearn-dpbo.sklearn-dpbo .dpbo-title {padding: 0.4em 0.7em; font-weight: bold;
  background: rgba(100, 149, 237, 0.2)}
.sklearn-dpbo.sklearn-dpbo .dpbo-warning {padding: 0.6em 0.7em; font-weight: bold;
  font-size: 1.25em; border: 0.2em solid rgb(214, 48, 49); background: rgba(214, 48, 49, 0.2)}
.sklearn-dpbo.sklearn-dpbo table {width: 100%; margin: 0; border: 0; border-collapse: collapse;
  table-layout: auto; font-size: inherit; color: inherit}
.sklearn-dpbo.sklearn-dpbo table tr {background: none; border: 0}
.sklearn-dpbo.sklearn-dpbo table :is(th, td) {padding: 0.25em 0.7em; border: 0; text-align: left;
  vertical-align: top; white-space: normal; color: inherit; background: none; max-width: none}
.sklearn-dpbo.sklearn-dpbo table th {width: 8.5em; font-weight: normal; opacity: 0.75}
.sklearn-dpbo.sklearn-dpbo summary {padding: 0.25em 0.7em 0.4em; cursor: pointer}
@container (max-width: 30em) {
  .sklearn-dpbo.sklearn-dpbo table :is(tr, th, td) {display: block; width: auto}
  .sklearn-dpbo.sklearn-dpbo table td {padding-top: 0}
}
"""


def card(title: str, rows, *, folded=(), warning: str = "") -> str:
    """Return a card as HTML.

    Parameters
    ----------
    title : str
    rows : sequence of (label, lines)
        A str and a sequence of str, all of which are escaped.
    folded : sequence of (label, lines)
        Rows that are shown on a click.
    warning : str, default=""
        Stands above all, in red.
    """
    parts = [f"<style>{_STYLE}</style>", '<div class="sklearn-dpbo">']
    if warning:
        parts.append(f'<div class="dpbo-warning" role="alert">{html.escape(warning)}</div>')
    parts += [f'<div class="dpbo-title">{html.escape(title)}</div>', _table(rows)]
    if folded:
        parts.append(f"<details><summary>More</summary>{_table(folded)}</details>")
    return "".join([*parts, "</div>"])


def _table(rows) -> str:
    cells = "".join(
        f'<tr><th scope="row">{html.escape(label)}</th>'
        f"<td>{'<br>'.join(map(html.escape, lines))}</td></tr>"
        for label, lines in rows
    )
    return f"<table><tbody>{cells}</tbody></table>"


class ShowsPrivacy:
    """Adds a card to scikit-learn's HTML, once there is a privacy statement.

    To be inherited from before `BaseEstimator`, of which `_repr_html_` and `_repr_mimebundle_`, the
    names that notebooks ask for, are extended; how they come about differs between versions.
    """

    @property
    def _repr_html_(self):
        # Of BaseEstimator, which comes later in the order of inheritance.
        diagram = super()._repr_html_  # type: ignore[misc]  # an AttributeError with set_config(display="text")
        return lambda: diagram() + self._privacy_card()

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += self._privacy_card()
        return shown

    def _privacy_card(self) -> str:
        """Return the privacy statement with the results, as HTML; nothing before `fit`."""
        if not hasattr(self, "privacy_"):
            return ""
        return self.privacy_._card(_results(self))


class ShowsEstimatorAndPrivacy(ShowsPrivacy):
    """Shows the fitted estimator in the diagram, or else the given one."""

    def _sk_visual_block_(self):
        """Return what scikit-learn draws: any object with these attributes will do."""
        names = ("best_estimator_", "estimator_", "estimator")
        name = next(name for name in names if name in vars(self))
        inner = getattr(self, name)
        return SimpleNamespace(
            kind="parallel",
            estimators=[inner],
            names=[f"{name}: {type(inner).__name__}"],
            name_details=[str(inner)],
            name_caption=None,
            doc_link_label=None,
            dash_wrapped=True,
        )


def _results(estimator) -> list[tuple[str, list[str]]]:
    """Return what was chosen, and its score with where it lies without noise."""
    rows = []
    if hasattr(estimator, "best_params_"):
        setting = [f"{name} = {_short(v)}" for name, v in estimator.best_params_.items()]
        rows.append(("Best parameters", setting))
    for name in ("threshold", "parameter"):
        if hasattr(estimator, f"best_{name}_"):
            rows.append((f"Best {name}", [_short(getattr(estimator, f"best_{name}_"))]))
    if hasattr(estimator, "best_scores_"):
        by_name = estimator.best_score_intervals_.items()
        said = [f"{name} {_said(estimator.best_scores_[name], where)}" for name, where in by_name]
        rows.append(("Scores", said))
    elif hasattr(estimator, "best_score_"):
        interval = getattr(estimator, "best_score_interval_", None)
        name = f"{estimator.scorer_.name} " if hasattr(estimator, "scorer_") else ""
        rows.append(("Score", [name + _said(estimator.best_score_, interval)]))
    return rows


def _said(score: float, interval) -> str:
    said = f"{_short(score)} with noise"
    if interval is None:
        return said
    low, high = map(_short, interval)
    return f"{said}; without it, {low} to {high} (95 %)"


def _short(value) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    return textwrap.shorten(repr(value), 100, placeholder=" ...")
