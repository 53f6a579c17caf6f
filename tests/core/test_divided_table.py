"""One table is cut by number or group, and made-up records have its schema and nothing else."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from sklearn_dpbo.records.divided_table import DividedTable, plain_table, stand_in_rows

CLASSES = np.array([0, 1])


def divided(X, y=None, groups=None, test_size=0.25, seed=0, labels=CLASSES):
    y = np.arange(len(X)) % 2 if y is None else y
    rng = np.random.default_rng(seed)
    return DividedTable.divide(X, y, groups, labels, True, lambda m: round(test_size * m), rng, {})


def numbered(n, others=0.0):
    """A table whose first column is the row number."""
    return np.column_stack([np.arange(n), np.full(n, others)]).astype(float)


def rows_of(table):
    """The row numbers of both parts."""
    return table.training.X[:, 0].astype(int), table.X_val[:, 0].astype(int)


GROUPS = st.lists(st.integers(0, 9), min_size=12, max_size=40).filter(lambda g: len(set(g)) >= 4)


@pytest.mark.slow
@settings(max_examples=60)
@given(GROUPS, st.floats(0.15, 0.85), st.integers(0, 99), st.booleans())
def test_each_unit_lies_in_one_part(groups, test_size, seed, grouped):
    groups = groups if grouped else list(range(len(groups)))
    m, n_val = len(set(groups)), round(test_size * len(set(groups)))
    if not 0 < n_val < m:
        return
    table = divided(numbered(len(groups)), None, groups, test_size, seed)
    fit, val = rows_of(table)
    assert sorted([*fit, *val]) == list(range(len(groups)))
    of_part = [{groups[row] for row in rows} for rows in (fit, val)]
    assert not of_part[0] & of_part[1]
    assert (table.units.m, table.units_val.m) == (m - n_val, n_val)
    for rows, units in ((fit, table.units), (val, table.units_val)):
        same = np.equal.outer(units.labels, units.labels)
        assert (same == np.equal.outer(*[[groups[row] for row in rows]] * 2)).all()


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(0, 2**31), st.booleans(), st.data())
def test_the_cut_depends_on_numbers_and_groups_only(seed, grouped, data):
    n = 24
    groups = np.arange(n) // 3 if grouped else None
    parts = rows_of(divided(numbered(n), groups=groups, seed=seed))
    number = st.sampled_from([0.0, 7.0, np.nan, np.inf, -1e308])
    label = st.sampled_from([0, 1, 2, "a", None, 1.5])
    X = numbered(n)
    X[:, 1] = data.draw(st.lists(number, min_size=n, max_size=n))
    y = np.array(data.draw(st.lists(label, min_size=n, max_size=n)), dtype=object)
    names = None if groups is None else [f"person {g}" for g in groups]
    others = rows_of(divided(X, y, names, seed=seed))
    assert all((a == b).all() for a, b in zip(parts, others, strict=True))


def frame(seed, n=30):
    """A frame with all kinds of columns, of which only the values depend on the seed."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(1_000, 2_000, n)
    return pd.DataFrame(
        {
            "float": whole + 0.5,
            "small": whole.astype(np.int16),
            "truth": whole % 2 == 0,
            "text": pd.Series([f"secret {w}" for w in whole], dtype=object),
            "string": pd.Series([f"secret {w}" for w in whole], dtype="string"),
            "whole": pd.array([None if w % 3 == 0 else w for w in whole], dtype="Int64"),
            "real": pd.array([None if w % 5 == 0 else w + 0.5 for w in whole], dtype="Float64"),
            "time": pd.to_datetime(whole, unit="D"),
            "category": pd.Categorical(rng.choice(["a", "b"], n), categories=["a", "b", "c"]),
            "no category": pd.Categorical([None] * n, categories=[]),
            7: whole.astype(np.float32),
        },
        index=whole,
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_made_up_arrays_depend_on_the_schema_only(dtype):
    made = [
        stand_in_rows(plain_table(values.astype(dtype)), 20, np.random.default_rng(0), {})
        for values in (np.full((9, 3), 77.0), np.zeros((500, 3)), np.ones((1, 3)))
    ]
    assert made[0].dtype == dtype and made[0].shape == (20, 3)
    assert (made[0] == made[1]).all() and (made[0] == made[2]).all()
    assert (made[0].astype(float) != 77).all()


def test_made_up_frames_depend_on_the_schema_only():
    a, b = (
        stand_in_rows(plain_table(frame(*args)), 50, np.random.default_rng(0), {})
        for args in ((0,), (1, 400))
    )
    pd.testing.assert_frame_equal(a, b)
    assert a.dtypes.tolist() == plain_table(frame(0)).dtypes.tolist()
    assert a.columns.tolist() == frame(0).columns.tolist()
    assert set(a["category"]) == {"a", "b", "c"}
    cells = {cell for name in a for cell in a[name] if cell == cell and cell is not pd.NA}
    assert not cells & {cell for name in frame(0) for cell in frame(0)[name].dropna()} - {
        True, False, "a", "b", "c"
    }  # fmt: skip


@settings(max_examples=25)
@given(st.integers(0, 9), st.lists(st.floats(), min_size=8, max_size=8), st.data())
def test_all_that_is_public_of_a_table_is_the_same_for_other_records(seed, values, data):
    """Of neighbours with the same schema: made-up records, companions' labels, sizes of parts."""
    labels = data.draw(st.lists(st.sampled_from([0, 1, 5, None, "x"]), min_size=8, max_size=8))
    public = []
    for X, y in (
        (numbered(8), np.arange(8) % 2),
        (np.array(values)[:, None] * [1.0, 2.0], np.array(labels, dtype=object)),
    ):
        table = divided(X, y, seed=seed)
        problem = table.problem(np.array([0.2, 0.8]), np.random.default_rng(seed))
        sizes = table.units.m, table.units.grouped, problem.protected
        public.append((problem.training.X, problem.training.y, *sizes))
    (X, y, *rest), (X_other, y_other, *rest_other) = public
    assert (X_other == X).all() and (y == y_other).all() and rest == rest_other


def test_made_up_labels_are_as_frequent_as_asked_and_none_is_missing():
    problem = divided(numbered(40)).problem(np.array([1.0, 0.0]), np.random.default_rng(0))
    assert np.bincount(problem.training.y).tolist() == [256, 4]
    assert len(problem.training.X) == 260
    assert np.abs(problem.training.X).max() <= 1


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, 2.0]] * 8,
        np.zeros(8),
        np.zeros((8, 2), dtype=object),
        np.full((8, 2), "a"),
        csr_matrix(np.eye(8)),
        pd.Series(np.zeros(8)),
    ],
    ids=["list", "one dimension", "objects", "texts", "sparse", "series"],
)
def test_tables_that_do_not_declare_what_they_hold_are_refused(X):
    with pytest.raises(ValueError, match=r"these declare what they hold.*; found \w+"):
        divided(X, np.zeros(8))


def test_tables_of_other_libraries_are_refused_by_the_name_of_their_kind():
    with pytest.raises(ValueError, match=r"found a sparse table, csr_matrix \(scipy\).*toarray"):
        divided(csr_matrix(np.eye(8)), np.zeros(8))
    with pytest.raises(ValueError, match=r"found DataFrame \(polars\).*X.to_pandas\(\)"):
        divided(pl.DataFrame(np.eye(8)), np.zeros(8))


def test_what_does_not_make_two_parts_is_refused():
    with pytest.raises(ValueError, match="a label has shape"):
        divided(numbered(8), np.zeros((8, 2)))
    with pytest.raises(ValueError, match="one label per record"):
        DividedTable.divide(
            numbered(8), None, None, CLASSES, True, lambda m: 2, np.random.default_rng(0), {}
        )  # fmt: skip
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        divided(numbered(8), np.zeros(7))
    with pytest.raises(ValueError, match="7 entries for 8 rows"):
        divided(numbered(8), groups=np.zeros(7))
    with pytest.raises(ValueError, match="2 groups cannot be cut"):
        divided(numbered(8), groups=np.arange(8) % 2, test_size=0.1)
