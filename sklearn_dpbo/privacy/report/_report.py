"""Privacy reports of releases (zone: released)."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

from ..accounting import TRAINING, PrivacyLoss, weak_because
from ..receipt import Receipt
from ..spending import Spent
from ._card import Row, card, in_lines
from ._json import as_json, require_equal

# Version of the JSON, which `disclosure.schema.json` describes: change both together.
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
# Most equal releases in a row.
_MOST_ALIKE = 1_000_000
# Lines of a summary, with the title; and characters of a text behind its label.
_SUMMARY_LINES = 8
_SUMMARY_WIDTH = 83
_ANOTHER_RUN = "uses new noise, which random_state does not fix, and spends epsilon again"
_NOT_REPORTED = (
    "which labels are missing or unknown to the training set (released tables may count them), and "
    "records that cannot be predicted: they count as wrong, and a message would reveal them. To "
    "see how the model copes with such records, compare score(X, y) on public ones"
)


# Fields of a loss, and those of a report that `to_dict` returns unchanged.
_OF_LOSS = ("purpose", "detail", "mechanism", "assumption", "epsilon", "delta")
_ROUNDING = 1e-9
# Share of epsilon that a split may leave over.
_LEFT_OVER = 1e-6
_OF_SYSTEM = re.compile(
    r"OpenDP [0-9.]+: exact samplers, operating-system randomness(?=;|$)", re.ASCII
)
# What a field of a record has to be, with the rule in words.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "private": (lambda value: isinstance(value, bool), "true or false"),
    "m": (lambda value: type(value) is int and value > 0, "a whole number above 0"),
    "unit": (lambda value: value in ("record", "group", "instance"), "record, group or instance"),
    "data": (
        lambda value: value in ("validation set", "table", "training set", "sample"),
        "what the units are part of",
    ),
    "software": (
        lambda value: bool(re.fullmatch(r"sklearn_dpbo [0-9][\w.+-]{,40}", value, re.ASCII)),
        "the name and version of this package",
    ),
}
_AS_THEY_ARE = (
    "title", "unit", "m", "data", "protected", "not_protected", "assumption", "condition",
    "released", "noise", "software",
)  # fmt: skip
# Labels of facts in the order in which they are shown, and those that a card folds.
_LABELS = (
    "Guarantee", "Protected", "Neighbours", "Released", "Not protected", "Assumption", "Condition",
    "Not reported", "Spent", "Noise", "Another run", "Ledger",
)  # fmt: skip
_FOLDED = {"Neighbours", "Released", "Not reported", "Noise", "Ledger"}


@dataclass(frozen=True)
class PrivacyReport:
    """Report on a release: what was protected, how strongly, and on which assumption.

    ``print()`` shows a summary, `details` returns the whole text, and a notebook shows HTML;
    `to_markdown`, `to_html` and `to_json` return the report for publication. All forms but the
    summary have the same content.

    Parameters
    ----------
    title : str
        Title of the report.
    epsilon, delta : float
        Privacy loss: everything released together is (epsilon, delta)-differentially private with
        respect to one unit.
    unit, m : str, int
        Unit that neighbouring data sets replace ("record", "group" or "instance"), and the number
        of units.
    data, protected : str
        Data set of the units ("validation set" or "sample"), and its origin.
    not_protected : str
        Facts that the guarantee does not cover.
    assumption : str or None
        Assumption of the guarantee, in addition to the condition.
    condition : str
        Condition that has to hold in any case.
    released : str
        Results that may be published.
    spends : tuple of PrivacyLoss
        One entry per release, in order.
    noise, secure : str, bool
        Source of the noise; and False if somebody may predict it: there is no guarantee then.
    receipts : tuple of Receipt, default=()
        One entry per charge of a ledger.
    software : str, default=""
        Name and version of the software that made the release; "" is this version of this package.
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

        The keys are "format" (the version of these keys, 2), "software" (its name and version),
        "title", "private" (bool), "warning" (None if private), "epsilon" and "delta" (None if the
        noise was seeded: then there is no guarantee), "weak" (the reason if the guarantee is weak,
        or None), "m", "unit", "data", "protected", "neighbours", "released", "not_protected",
        "assumption" (or None), "condition", "not_reported" (of a validation set, or None), "spent",
        "noise", "another_run" (None if the noise was seeded) and "ledger" ("ledger", "charge",
        "head" and "parts" of each charge, as in `Receipt`).

        "spent" lists the releases in order, equal ones in a row as one entry: "purpose" and
        "detail" (in words), "mechanism", "assumption" (or None), "times" (their number), "epsilon"
        and "delta" (of each), "share" (of their sum, in all of epsilon), and "of" (for one table,
        the part of it that pays; else empty). `from_dict` reads all of it.
        """
        private = self.secure
        unit_is = (
            "all the records of one group are" if self.unit == "group" else f"one {self.unit} is"
        )
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
            "neighbours": f"{self.data}s in which {unit_is} replaced",
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
        """Return the report from its `to_dict`.

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
            If the record is not one of a report: fields are missing or unknown, or contradict each
            other, such as a share and its epsilon.
        """
        try:
            report = cls._read(record)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"the record is not a privacy report of format {FORMAT}: {error!r}"
            ) from None
        require_equal(report.to_dict(), record, "privacy")
        return report

    @classmethod
    def _read(cls, record: Mapping[str, Any]) -> Self:
        """Return the report of a record, whose fields may still contradict each other."""
        if record["format"] != FORMAT:
            raise ValueError(f"this version reads format {FORMAT}; found {record['format']!r}")
        for name, (fits, rule) in _RULES.items():
            if not fits(record[name]):
                raise ValueError(f"{name} is {rule}; found {record[name]!r}")
        spends = _read_losses(record["spent"])
        sums: dict[str, Any] = {
            # The record has no sums if the noise was seeded, as there is no guarantee.
            name: math.fsum(getattr(loss, name) for loss in spends) if said is None else said
            for name, said in ((name, record[name]) for name in ("epsilon", "delta"))
        }
        unchanged = {name: record[name] for name in _AS_THEY_ARE}
        receipts = tuple(Receipt(**receipt) for receipt in record["ledger"])
        report = cls(
            **unchanged, **sums, spends=spends, secure=record["private"], receipts=receipts
        )
        report._require_enough()
        return report

    def _require_enough(self) -> None:
        """Raise ValueError unless epsilon and delta cover all losses, of each part of one table."""
        if not (self.spends and self.epsilon > 0 and 0 <= self.delta < 1):
            raise ValueError(
                "a report lists what was released, with an epsilon above 0 and a delta from 0 to "
                f"below 1; found {self.epsilon:g}, {self.delta:g} and {len(self.spends)} release(s)"
            )
        for part in {self._part(loss) for loss in self.spends}:
            losses = [loss for loss in self.spends if self._part(loss) == part]
            for name in ("epsilon", "delta"):
                total = math.fsum(getattr(loss, name) for loss in losses)
                # Under an assumption, less may be needed; of delta, less may be left over.
                less = name == "epsilon" and self.assumption is None
                least = getattr(self, name) * (1 - _LEFT_OVER) if less else 0.0
                if not least <= total <= getattr(self, name) * (1 + _ROUNDING):
                    raise ValueError(
                        f"{name} is {getattr(self, name):g}, and the releases of "
                        f"{part or 'all records'} cost {total:g}"
                    )
        is_trained = TRAINING in [loss.purpose for loss in self.spends]
        if is_trained != (self.data == "table"):
            lists = "lists" if is_trained else "does not list"
            raise ValueError(f"the report of a {self.data} {lists} {TRAINING!r} as a release")
        if (self.assumption is None) == any(loss.assumption for loss in self.spends):
            raise ValueError("assumption and those of the releases contradict each other")
        if self.secure and not _OF_SYSTEM.match(self.noise):
            raise ValueError(f"private is true, and the noise is {self.noise!r}")

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
        """Return the whole report as text, to be printed."""
        warning = [] if self.secure else textwrap.wrap(f"!!! {self._warning} !!!", 100)
        return "\n".join([*warning, in_lines(self.title, self._rows().items())])

    def __str__(self) -> str:
        """Return a summary of at most 8 lines."""
        lines = [f"{self.title} (in full: .details())"]
        lines += [] if self.secure else [f"!!! {self._warning.rpartition('. ')[0]} !!!"]
        labels = ["Guarantee", "Protected", "Not protected"]
        if self.secure:
            labels.append("Released")
        if self.assumption is not None:
            labels.append("Assumption")
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
        """Return results and report as HTML, with the details of the report folded."""
        rows = self._rows()
        folded = [(label, rows.pop(label)) for label in _LABELS if label in _FOLDED & rows.keys()]
        return card(self.title, [*results, *rows.items()], folded=folded, warning=self._warning)

    @property
    def _warning(self) -> str:
        return "" if self.secure else _SEEDED

    def _rows(self) -> dict[str, list[str]]:
        """Return the texts of all facts, by label."""
        facts = self.to_dict()
        facts |= {
            "guarantee": self._guarantee(facts["weak"]),
            "protected": f"{self.m:,} {self.unit}s of the {self.data} ({self.protected})",
            "assumption": self.assumption or "none beyond the condition",
            "spent": [_spend_text(spend) for spend in self._spent()],
            "ledger": [_receipt_text(receipt) for receipt in self.receipts],
        }
        shown = {label: facts[label.lower().replace(" ", "_")] for label in _LABELS}
        return {
            label: [text] if isinstance(text, str) else text
            for label, text in shown.items()
            if text
        }

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
        """Return the losses in order, equal ones in a row as one entry."""
        lines = []
        for loss, alike in groupby(self.spends):
            times = len(list(alike))
            share = times * loss.epsilon / self.epsilon
            fields = {name: getattr(loss, name) for name in _OF_LOSS}
            lines.append(fields | {"times": times, "share": share, "of": self._part(loss)})
        return lines

    def _spent(self) -> list[dict[str, Any]]:
        """Return the sums of losses by purpose, which the texts show."""
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
        """Name the part of one table that a loss is charged to; "" if the table is not divided."""
        if TRAINING not in [spend.purpose for spend in self.spends]:
            return ""
        return "the first part" if loss.purpose == TRAINING else "the second part"

    def _by_purpose(self) -> dict[str, list[PrivacyLoss]]:
        """Group the losses by purpose and detail, in words."""
        by_purpose: dict[str, list[PrivacyLoss]] = {}
        for loss in self.spends:
            by_purpose.setdefault(loss.release, []).append(loss)
        return by_purpose


def _read_losses(lines: Sequence[Mapping[str, Any]]) -> tuple[PrivacyLoss, ...]:
    """Return the losses that `_in_order` returned, in which equal ones are one entry."""
    if sum(_times(line["times"]) for line in lines) > _MOST_ALIKE:
        raise ValueError(f"spent lists more than {_MOST_ALIKE:,} releases")
    return tuple(
        PrivacyLoss(**{name: line[name] for name in _OF_LOSS})
        for line in lines
        for _ in range(line["times"])
    )


def _times(times: Any) -> int:
    """Check the number of equal releases in a record; ValueError if no fit makes as many."""
    if type(times) is not int or not 0 < times <= _MOST_ALIKE:
        raise ValueError(f"times must be a whole number from 1 to {_MOST_ALIKE:,}; found {times!r}")
    return times


def _receipt_text(receipt: Receipt) -> str:
    parts = f"; {receipt.parts}" if receipt.parts else ""
    return f"charge {receipt.charge} of {receipt.ledger}, {receipt.head}{parts}"


def _spend_text(spend: dict[str, Any]) -> str:
    return (
        f"epsilon = {spend['epsilon']:g} ({100 * spend['share']:.3g} %{spend['of'] and ' of '}"
        f"{spend['of']}), delta = {spend['delta']:g}: {spend['purpose']}, by {spend['mechanism']}"
    )


def _escape_markdown(text: str) -> str:
    """Escape the special characters of Markdown in a text, and put it on one line."""
    return re.sub(r"([\\`*_\[\]<>&|~#$])", r"\\\1", " ".join(text.split()))


def _mechanism(losses: list[PrivacyLoss]) -> str:
    first = losses[0]
    if len(losses) == 1:
        return first.mechanism
    return f"{first.mechanism} and {len(losses) - 1} more like it, one after another"


def report_of(spent: Spent, **facts: Any) -> PrivacyReport:
    """Return the report of a budget; `facts` are further parameters, or replace its own."""
    return PrivacyReport(**({"assumption": None} | spent._asdict() | facts))
