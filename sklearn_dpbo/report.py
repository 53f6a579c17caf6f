"""The privacy statement of whatever was released (zone: released)."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass

from .privacy import PrivacyLoss

__all__ = ["PREDICTIONS_ROW_BY_ROW", "TRAINING_NOT_PROTECTED", "PrivacyReport"]

TRAINING_NOT_PROTECTED = (
    "the training set, on which {} was fitted; the schema of the validation set (number of units, "
    "columns, dtypes); the time that it took; and whatever else is computed from the validation "
    "records, this fit run again included"
)
PREDICTIONS_ROW_BY_ROW = (
    "a model's prediction for a record depends on that record alone (checked on training records)"
)


@dataclass(frozen=True)
class PrivacyReport:
    """What was protected, how strongly, and on which assumption.

    Parameters
    ----------
    title : str
        What it is the statement of.
    epsilon, delta : float
        What was spent: all of it is (epsilon, delta)-differentially private with respect to one
        unit.
    unit : str
        What neighbouring data differ in one of: "record", "group" or "instance".
    m : int
        Number of units.
    data : str
        What the units are part of: "validation set" or "sample".
    protected : str
        Where they came from.
    not_protected : str
    assumption : str or None
        What the guarantee rests on beside the condition; None for a worst-case guarantee.
    condition : str
        What has to hold in any case.
    released : str
        What may be published.
    spends : tuple of PrivacyLoss
        One entry per release.
    noise : str
        Where the noise came from.
    secure : bool
        False if the noise can be predicted; then nothing is guaranteed.
    """

    title: str
    epsilon: float
    delta: float
    unit: str
    m: int
    data: str
    protected: str
    not_protected: str
    assumption: str | None
    condition: str
    released: str
    spends: tuple[PrivacyLoss, ...]
    noise: str
    secure: bool

    @property
    def mechanism(self) -> str:
        """The mechanisms used, in order."""
        return ", then ".join(_how(losses) for losses in self._by_release().values())

    def _lines(self) -> list[tuple[str, str]]:
        """Return (heading, text) pairs: the statement that every form shows."""
        one = "all the records of one group are"
        if self.unit != "group":
            one = f"one {self.unit} is"
        kind = "worst case" if self.assumption is None else "under an assumption"
        guarantee = f"epsilon = {self.epsilon:g}, delta = {self.delta:g} ({kind})"
        if not self.secure:
            guarantee = "NONE: the noise is seeded and can be taken off again. For tests only"
        return [
            ("Guarantee", guarantee),
            ("Protected", f"{self.m:,} {self.unit}s of the {self.data} ({self.protected})"),
            ("Neighbours", f"{self.data}s in which {one} replaced"),
            ("Released", self.released),
            ("Not protected", self.not_protected),
            ("Assumption", self.assumption or "none: it holds in the worst case"),
            ("Condition", self.condition),
            *((f"Spent {i}", spend) for i, spend in enumerate(self._spends(), 1)),
            ("Noise", self.noise),
        ]

    def _spends(self) -> list[str]:
        """Say what was spent on what, in order; what was spent repeatedly, once, with its sum."""
        return [
            f"epsilon = {sum(loss.epsilon for loss in losses):g}, "
            f"delta = {sum(loss.delta for loss in losses):g}: {release}, by {_how(losses)}"
            for release, losses in self._by_release().items()
        ]

    def _by_release(self) -> dict[str, list[PrivacyLoss]]:
        of_release: dict[str, list[PrivacyLoss]] = {}
        for loss in self.spends:
            of_release.setdefault(loss.release, []).append(loss)
        return of_release

    def __str__(self) -> str:
        lines = [self.title]
        for heading, text in self._lines():
            lines += textwrap.wrap(
                text, 100, initial_indent=f"  {heading:<15}", subsequent_indent=" " * 17
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "" if self.secure else ", NOT PRIVATE: seeded noise"
        return (
            f"<PrivacyReport: epsilon={self.epsilon:g}, delta={self.delta:g}, "
            f"{self.m} {self.unit}s{state}; print() it for all>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;vertical-align:top">{html.escape(h)}</th>'
            f'<td style="text-align:left">{html.escape(text)}</td></tr>'
            for h, text in self._lines()
        )
        return (
            '<table><caption style="text-align:left;font-weight:bold">'
            f"{html.escape(self.title)}</caption><tbody>{rows}</tbody></table>"
        )


def _how(losses: list[PrivacyLoss]) -> str:
    first = losses[0]
    if len(losses) == 1:
        return first.mechanism
    return f"{first.mechanism} and {len(losses) - 1} more like it, one after another"
