"""The privacy report of a release (zone: released)."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

from ..accounting import TRAINING, PrivacyLoss, weak_because
from ..receipt import Receipt
from ..spending import Spent
from ._card import Row, card, in_lines
from ._json import as_json, require_equal

# Of JSON, as `disclosure.schema.json` describes it: a change of one is a change of both.
FORMAT = 2
_SEEDED = (
    "NOT PRIVATE: the noise was seeded. For tests only: do not publish it. Whoever knows the seed "
    "can remove the noise"
)

TRAINING_NOT_PROTECTED = (
    "the training set, on which {} was fitted; how long the fit took; the schema of the validation "
    "set (number of units, group identifiers, columns, dtypes); and whatever else is computed from "
    "the validation records, including another run of this fit"
)
_MOST_ALIKE = 1_000_000
_SUMMARY_LINES, _SUMMARY_WIDTH = 8, 83  # with the title; of a text behind its label
_ANOTHER_RUN = "uses new noise, which random_state does not fix, and spends epsilon again"
_NOT_REPORTED = (
    "labels that are missing or that the training set does not have, and records that cannot be "
    "predicted: they count as wrong, and a message would reveal them. To see how the model copes "
    "with such records, compare score(X, y) on public ones"
)


# Fields of a loss, and those of a report that `to_dict` returns as they are.
_OF_LOSS = ("purpose", "detail", "mechanism", "assumption", "epsilon", "delta")
_AS_THEY_ARE = (
    "title", "unit", "m", "data", "protected", "not_protected", "assumption", "condition",
    "released", "noise", "software",
)  # fmt: skip
# Facts in the order in which they are shown, and those that a card folds.
_LABELS = (
    "Guarantee", "Protected", "Neighbours", "Released", "Not protected", "Assumption", "Condition",
    "Not reported", "Spent", "Noise", "Another run", "Ledger",
)  # fmt: skip
_FOLDED = {"Neighbours", "Released", "Not reported", "Noise", "Ledger"}


@dataclass(frozen=True)
class PrivacyReport:
    """What was protected, how strongly, and on which assumption.

    ``print()`` shows a summary, `details` returns the whole text, and a notebook shows HTML;
    `to_markdown`, `to_html` and `to_json` return the report for publication. All forms but the
    summary have the same content.

    Parameters
    ----------
    title : str
        What the report is about.
    epsilon, delta : float
        What was spent: everything released together is (epsilon, delta)-differentially private
        with respect to one unit.
    unit, m : str, int
        What is replaced in neighbouring data ("record", "group" or "instance"), and their number.
    data, protected : str
        What the units are part of ("validation set" or "sample"), and where they came from.
    not_protected : str
        What the guarantee does not cover.
    assumption : str or None
        What the guarantee rests on in addition to the condition, or None.
    condition : str
        What has to hold in any case.
    released : str
        What may be published.
    spends : tuple of PrivacyLoss
        One entry per charge, in order.
    noise, secure : str, bool
        Where the noise came from, and whether nobody can predict it: else there is no guarantee.
    receipts : tuple of Receipt, default=()
        Where the release was charged: one entry per charge of a ledger.
    software : str, default=""
        Name and version of what made the release; an empty text is this version of this package.
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
    receipts: tuple[Receipt, ...] = ()
    software: str = ""

    def __post_init__(self) -> None:
        name = __name__.partition(".")[0]
        made_by = self.software or f"{name} {sys.modules[name].__version__}"
        object.__setattr__(self, "software", made_by)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as numbers, texts, and lists and dicts of them.

        The keys are "format" (of these keys, 2), "software" (its name and version), "title",
        "private" (bool), "warning" (None if private), "epsilon" and "delta" (None if the noise was
        seeded: then there is no guarantee), "weak" (why the guarantee promises little, or None),
        "m", "unit", "data", "protected", "neighbours", "released",
        "not_protected", "assumption" (or None), "condition", "not_reported" (of a
        validation set, or None), "spent", "noise", "another_run" (None if the noise was seeded) and
        "ledger" ("ledger", "charge", "head" and "parts" of each charge, as in `Receipt`). "spent"
        lists the releases, equal ones that follow each other once: "purpose" and "detail" (in
        words), "mechanism", "assumption" (or None), "times" (how many there are), "epsilon" and
        "delta" (of each), "share" (of all of them together, of the whole epsilon), and "of" (of one
        table, which part of it pays; else empty). `from_dict` reads all of it.
        """
        private = self.secure
        one = "all the records of one group are" if self.unit == "group" else f"one {self.unit} is"
        return {
            "format": FORMAT,
            "software": self.software,
            "title": self.title,
            "private": private,
            "warning": None if private else _SEEDED,
            "epsilon": self.epsilon if private else None,
            "delta": self.delta if private else None,
            "weak": weak_because(self.epsilon, self.delta, self.m) or None if private else None,
            "m": self.m,
            "unit": self.unit,
            "data": self.data,
            "protected": self.protected,
            "neighbours": f"{self.data}s in which {one} replaced",
            "released": self.released,
            "not_protected": self.not_protected,
            "assumption": self.assumption,
            "condition": self.condition,
            "not_reported": _NOT_REPORTED if self.data == "validation set" else None,
            "spent": self._in_order(),
            "noise": self.noise,
            "another_run": _ANOTHER_RUN if private else None,
            "ledger": [receipt._asdict() for receipt in self.receipts],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the report that `to_dict` wrote.

        Parameters
        ----------
        record : dict
            What `to_dict` returned, or the same read from JSON.

        Returns
        -------
        report : PrivacyReport

        Raises
        ------
        ValueError
            If the record is not what a report writes: fields are missing, unknown, or contradict
            each other, such as a share and its epsilon.
        """
        try:
            report = cls._read(record)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no privacy report of format {FORMAT}: {error!r}") from None
        require_equal(report.to_dict(), record, "privacy")
        return report

    @classmethod
    def _read(cls, record: Mapping[str, Any]) -> Self:
        """Return the report with these fields, which may contradict others of the record."""
        if record["format"] != FORMAT:
            raise ValueError(f"this version reads format {FORMAT}; found {record['format']!r}")
        spends = tuple(
            PrivacyLoss(**{name: line[name] for name in _OF_LOSS})
            for line in record["spent"]
            for _ in range(_times(line["times"]))
        )
        whole: dict[str, Any] = {
            # Noise that was seeded promises nothing: then the record has no sums.
            name: math.fsum(getattr(loss, name) for loss in spends) if said is None else said
            for name, said in ((name, record[name]) for name in ("epsilon", "delta"))
        }
        same = {name: record[name] for name in _AS_THEY_ARE}
        receipts = tuple(Receipt(**receipt) for receipt in record["ledger"])
        return cls(**same, **whole, spends=spends, secure=record["private"], receipts=receipts)

    def to_json(self) -> str:
        """Return `to_dict` as JSON: a record for output checkers, which a JSON Schema describes."""
        return as_json(self.to_dict())

    def to_html(self) -> str:
        """Return the report as a self-contained HTML fragment."""
        return card(self.title, self._rows().items(), warning=self._warning)

    _repr_html_ = to_html

    def to_markdown(self) -> str:
        """Return the report as a Markdown list."""
        lines = [] if self.secure else [f"> # {_escape_markdown(self._warning)}", ""]
        lines += [f"**{_escape_markdown(self.title)}**", ""]
        for label, texts in self._rows().items():
            lines.append(f"- **{label}**: {_escape_markdown('; '.join(texts))}")
        return "\n".join(lines)

    def details(self) -> str:
        """Return the whole report as text: print it."""
        warning = [] if self.secure else textwrap.wrap(f"!!! {self._warning} !!!", 100)
        return "\n".join([*warning, in_lines(self.title, self._rows().items())])

    def __str__(self) -> str:
        """Return a summary of at most 8 lines."""
        lines = [f"{self.title} (in full: .details())"]
        lines += [] if self.secure else [f"!!! {self._warning.rpartition('. ')[0]} !!!"]
        labels = ["Guarantee", "Protected", "Not protected"]
        labels += ["Released"] * self.secure + ["Assumption"] * (self.assumption is not None)
        rows = self._rows()
        for label in [*labels, "Condition", "Ledger", "Another run"]:
            if label in rows:
                text = textwrap.shorten("; ".join(rows[label]), _SUMMARY_WIDTH, placeholder=" ...")
                lines.append(f"  {label:<15}{text}")
        return "\n".join(lines[:_SUMMARY_LINES])

    def __repr__(self) -> str:
        state = "" if self.secure else ", NOT PRIVATE: seeded noise"
        return (
            f"<PrivacyReport: epsilon={self.epsilon:g}, delta={self.delta:g}, "
            f"{self.m} {self.unit}s{state}; print() it, or its details()>"
        )

    def _card(self, results: Iterable[Row]) -> str:
        """Return the report as HTML beneath the rows of results, with the details folded."""
        rows = self._rows()
        folded = [(label, rows.pop(label)) for label in _LABELS if label in _FOLDED & rows.keys()]
        return card(self.title, [*results, *rows.items()], folded=folded, warning=self._warning)

    @property
    def _warning(self) -> str:
        return "" if self.secure else _SEEDED

    def _rows(self) -> dict[str, list[str]]:
        """Return the texts of each fact by its label."""
        facts = self.to_dict()
        facts |= {
            "guarantee": self._guarantee(facts["weak"]),
            "protected": f"{self.m:,} {self.unit}s of the {self.data} ({self.protected})",
            "assumption": self.assumption or "none beyond the condition",
            "spent": [_spend_text(each) for each in self._spent()],
            "ledger": [
                f"charge {r.charge} of {r.ledger}, {r.head}" + f"; {r.parts}" * bool(r.parts)
                for r in self.receipts
            ],
        }
        shown = {label: facts[label.lower().replace(" ", "_")] for label in _LABELS}
        return {k: [text] if isinstance(text, str) else text for k, text in shown.items() if text}

    def _guarantee(self, weak: str | None) -> str:
        if not self.secure:
            return "NONE: the noise was seeded"
        numbers = f"epsilon = {self.epsilon:g}, delta = {self.delta:g}"
        if self.assumption is not None:
            numbers += " (if the assumption holds; else none)"
        elif not weak:
            kind = "approximate DP" if self.delta else "pure epsilon-DP"
            numbers += f" ({kind}, one {self.unit} replaced)"
        return f"WEAK, as {weak}: {numbers}" if weak else numbers

    def _in_order(self) -> list[dict[str, Any]]:
        """Return the losses in order, equal ones that follow each other once."""
        lines = []
        for loss, alike in groupby(self.spends):
            times = len(list(alike))
            share = times * loss.epsilon / self.epsilon
            own = {name: getattr(loss, name) for name in _OF_LOSS}
            lines.append(own | {"times": times, "share": share, "of": self._part(loss)})
        return lines

    def _spent(self) -> list[dict[str, Any]]:
        """Return the losses by purpose, as the texts show them: sums."""
        return [
            {
                "purpose": purpose,
                "mechanism": _mechanism(losses),
                "epsilon": sum(loss.epsilon for loss in losses),
                "delta": sum(loss.delta for loss in losses),
                "share": sum(loss.epsilon for loss in losses) / self.epsilon,
                "of": self._part(losses[0]),
            }
            for purpose, losses in self._by_purpose().items()
        ]

    def _part(self, loss: PrivacyLoss) -> str:
        """Return which part of one table a loss is of; an empty text if there are no parts."""
        if TRAINING not in [each.purpose for each in self.spends]:
            return ""
        return "the first part" if loss.purpose == TRAINING else "the second part"

    def _by_purpose(self) -> dict[str, list[PrivacyLoss]]:
        """Return the losses by purpose and detail, in words."""
        by_purpose: dict[str, list[PrivacyLoss]] = {}
        for loss in self.spends:
            by_purpose.setdefault(loss.release, []).append(loss)
        return by_purpose


def _times(found: Any) -> int:
    """Return how many releases a line stands for; ValueError for more than a fit ever makes."""
    if type(found) is not int or not 0 < found <= _MOST_ALIKE:
        raise ValueError(f"times is a whole number from 1 to {_MOST_ALIKE:,}; found {found!r}")
    return found


def _spend_text(spend: dict[str, Any]) -> str:
    return (
        f"epsilon = {spend['epsilon']:g} ({100 * spend['share']:.3g} %{spend['of'] and ' of '}"
        f"{spend['of']}), delta = {spend['delta']:g}: {spend['purpose']}, by {spend['mechanism']}"
    )


def _escape_markdown(text: str) -> str:
    """Return the text on one line, with all characters escaped that mean something in Markdown."""
    return re.sub(r"([\\`*_\[\]<>&|~#$])", r"\\\1", " ".join(text.split()))


def _mechanism(losses: list[PrivacyLoss]) -> str:
    first = losses[0]
    if len(losses) == 1:
        return first.mechanism
    return f"{first.mechanism} and {len(losses) - 1} more like it, one after another"


def report_of(spent: Spent, **facts: Any) -> PrivacyReport:
    """Return the report of what was released; facts are further parameters, or other values."""
    return PrivacyReport(**({"assumption": None} | spent._asdict() | facts))
