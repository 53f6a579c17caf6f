"""What to do about failures of fits that newcomers meet first (zone: public).

It follows from the text of the error alone, which is of a fit on training records.
"""

from __future__ import annotations

__all__ = ["advice_on"]

_ENCODE_LABELS = (
    "Encode the labels as 0, 1, 2, ... first: encoder = LabelEncoder().fit(y_train) of "
    "sklearn.preprocessing, then pass encoder.transform(y_train) as y and encoder.transform(y_val) "
    "as y_val"
)
_ENCODE_COLUMNS = (
    "X has columns of text: let a pipeline encode them, and search over that, as in make_pipeline("
    "make_column_transformer((OneHotEncoder(handle_unknown='ignore'), columns), "
    "remainder='passthrough'), estimator), where columns is the list of their names"
)
_LEAVE_OUT_ROWS = "Leave out the training rows whose y is missing"

# Part of the message of scikit-learn, XGBoost, LightGBM or CatBoost, and what to do.
_ADVICE = {
    "Invalid classes inferred from unique values of `y`": _ENCODE_LABELS,
    "could not convert string to float": _ENCODE_COLUMNS,
    "DataFrame.dtypes for data must be int": _ENCODE_COLUMNS,
    "pandas dtypes must be int, float or bool": _ENCODE_COLUMNS,
    "must be real number, not str": _ENCODE_COLUMNS,
    "Input y contains NaN": _LEAVE_OUT_ROWS,
}


def advice_on(error: str | None) -> str:
    """Return what to do about a failure of a fit, in words; "" if it is not known.

    Parameters
    ----------
    error : str or None
        The text of the error.
    """
    return next((advice for part, advice in _ADVICE.items() if part in (error or "")), "")
