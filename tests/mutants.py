"""Planted bugs of the package, each of which a test of the default suite must detect.

They are what the tests are measured by: a test may go if its bugs are still detected. A mutant
names the definition that it changes, not the file, so that code may move. `planting.py` finds it,
and `system/test_mutants.py` runs the tests.
"""

from pathlib import Path
from typing import NamedTuple


class Mutant(NamedTuple):
    """A bug: in `where`, `new` instead of `old`, which occurs there once; `test` must fail then.

    `where` is the innermost function or class, as "Series.__call__" or "outer.inner", or the name
    that a module assigns. What several modules define has the module before it: "gdp:_log_delta",
    and as much of its folder as it takes: "metrics._labels:class_numbers".
    """

    where: str
    old: str
    new: str
    test: str


COMPARISON = "core/test_private_comparison.py::"
DISTRIBUTIONS = "statistical/test_mechanisms_distributions.py::"
MECHANISMS = "core/test_mechanisms.py::"
SCORING = "core/test_scoring.py::"
RANKING = "core/test_ranking.py::"
LEARNERS = "core/test_learners.py::"
REPEATED = "core/test_repeated_fits.py::"
LEDGER = "system/test_ledger.py::"
PROTECTED = "core/test_protected_values.py::"
ROWS = "core/test_row_by_row.py::"
LOW_UTILITY = "core/test_low_utility.py::"
SEPARATELY = "core/test_separately.py::"
CALLS = "core/test_calls.py::"
LISTED = "core/test_listed.py::"
SUBGROUPS = "core/test_subgroups.py::"
AREAS = "statistical/test_score_intervals.py::test_areas_of_bins_by_rows_that_a_model_was_fitted_on"
SPREAD = "core/test_spread.py::"
CHOICE = "core/test_choice.py::"
WAIST = "core/test_waist.py::"
POPULATION = "core/test_population_intervals.py::test_"
TWINS = "system/test_twins.py::test_chosen_twins_differ_in_nothing_but_what_gets_noise"
LEAKS = "system/test_leaks.py::test_no_raw_score_is_kept_printed_or_logged"

FREQUENT = "core/test_frequent_values.py::test_"
SEALED = "core/test_sealed.py::test_a_fit_keeps_and_says_what_follows_from_its_releases_alone"

MUTANTS = {
    # ------------------------------------------------------------------ too little noise
    "seeded noise in threads that inherit the context": Mutant(
        "seeds_here",
        "active and active[-1].thread == get_ident()",
        "active",
        "core/test_testing.py::test_no_other_thread_draws_seeded_noise",
    ),
    "seeded noise after its end": Mutant(
        "seed_noise",
        "own.active = False",
        "pass",
        "core/test_testing.py::test_no_seed_outlives_its_statement",
    ),
    "tasks of workers draw unseeded noise": Mutant(
        "progress:_run",
        "with seed_noise(seed):",
        "with seed_noise(None):",
        "core/test_testing.py::test_models_that_are_fitted_in_workers_are_seeded_alike[loky]",
    ),
    "workers count secret fits": Mutant(
        "in_shares",
        "n = effective_n_jobs(n_jobs)",
        "n = max(1, len(tasks))",
        "system/test_one_table_leaks.py::"
        "test_no_counter_depends_on_the_number_of_fits_in_workers[loky]",
    ),
    "score of the validation set without a warning": Mutant(
        "DelegatesToBest.score",
        "X is validated()",
        "False",
        "core/test_search.py::test_score_of_the_validation_set_warns",
    ),
    "ranges of columns: sensitivity of one unit": Mutant(
        "_sensitivity_of_cells",
        "return STEPS * math.sqrt(2 * d)",
        "return STEPS * math.sqrt(d)",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: sensitivity of sizes without pairs": Mutant(
        "_sensitivity_of_sizes",
        "(2.5 if pairs else 2) * d",
        "2 * d",
        LEARNERS + "test_replacing_a_unit_moves_counts_as_far_as_promised",
    ),
    "ranges of columns: a unit is in two pairs": Mutant(
        "size_counts",
        "first[order[half : 2 * half]]",
        "first[np.roll(order[:half], 1)]",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: a group counts for more than a record": Mutant(
        "_counts:_shares",
        "STEPS // rows.sizes",
        "np.full(len(rows.X), STEPS)",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: cells by what was counted without noise": Mutant(
        "places_of_counts",
        "places.zoom(noisy, std)",
        "places.zoom(numbers.cells(places.center, places.width, places.reach)._open(), std)",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: noise alone decides where nothing stands out": Mutant(
        "_usual_size",
        "(pairs - _FARTHER * std * _CELLS_FROM_1).argmax()",
        "counts.argmax()",
        LEARNERS + "test_where_no_size_stands_out_noise_alone_makes_columns_neither_huge_nor_tiny",
    ),
    "ridge is silent where noise is larger than what columns say": Mutant(
        "PrivateRidge._warn_of_noise",
        "2 * weights.sum() * (2 * self.noise_) ** 2",
        "0",
        LEARNERS + "test_ridge_warns_where_noise_is_larger_than_what_columns_say",
    ),
    "tails of the columns of a regressor are cut off": Mutant(
        "PrivateLearner._scaling_of_counts",
        "self._wider(m, self._many_for_columns)",
        "self._wider(m)",
        LEARNERS + "test_a_regressor_with_many_records_keeps_the_tails_of_columns_and_targets",
    ),
    "ranges of columns: shares of the budget that add up to more": Mutant(
        "SharedTables.__init__",
        "rest = 1 - sum(share for _, share in first)",
        "rest = 1.0",
        LEARNERS + "test_tables_have_gaussian_noise_of_the_documented_scale[False]",
    ),
    "choice: noise halved": Mutant(
        "_choice.draw",
        "sampler(price.scale(2 * scores.sensitivity))",
        "sampler(price.scale(scores.sensitivity))",
        DISTRIBUTIONS + "test_selection_has_permute_and_flip_distribution[scores0-1-seed]",
    ),
    "counts: noise halved": Mutant(
        "Mechanisms._noisy.draw",
        "tuple(noise(scale)(",
        "tuple(noise(scale / 2)(",
        DISTRIBUTIONS + "test_counts_have_discrete_laplace_noise[seed]",
    ),
    "functions of the confusion matrix: half of the width": Mutant(
        "Ranking.width",
        "float((self.high - self._lowest).max())",
        "float((self.high - self._lowest).max() / 2)",
        RANKING + "test_one_more_record_raises_a_ranking_by_the_width_at_most[2-7-f1]",
    ),
    "average precision: half of the width": Mutant(
        "PrecisionSum._width",
        "unit_weight(units) * (1 + self._log(units))",
        "unit_weight(units) * (1 + self._log(units)) / 2",
        RANKING
        + "test_one_record_moves_rankings_of_orders_by_the_sensitivity_at_most[PrecisionSum]",
    ),
    "variance of errors: half of the width": Mutant(
        "ErrorVariance.statistics",
        "(ee - e**2 / units.m), 4.0)",
        "(ee - e**2 / units.m), 2.0)",
        RANKING + "test_the_width_of_the_variance_of_errors_is_reached",
    ),
    "mean of areas: the width of one class": Mutant(
        "MeanArea._width",
        "_others(units)) * (first + second)",
        "_others(units)) * second",
        RANKING + "test_one_record_moves_rankings_of_orders_by_the_sensitivity_at_most[MeanArea]",
    ),
    "counts: noise of one candidate for all": Mutant(
        "Mechanisms._noisy.draw",
        "price.scale(counts.shape[0] * counts.sensitivity)",
        "price.scale(counts.sensitivity)",
        MECHANISMS + "test_noise_has_scale_of_joint_sensitivity_of_counts_and_of_all_candidates",
    ),
    "Gaussian noise halved": Mutant(
        "Price.shared",
        "math.sqrt(n) / gdp_within(epsilon, delta)",
        "math.sqrt(n) / 2 / gdp_within(epsilon, delta)",
        "statistical/test_release_noise.py::"
        "test_noise_of_a_release_has_its_distribution[all candidates, Gaussian]",
    ),
    "configurator: half of the sensitivity": Mutant(
        "PrivateConfigurator.fit",
        "grid=grid), _STEPS)",
        "grid=grid), _STEPS // 2)",
        "statistical/test_configuration.py::"
        "test_integers_and_scale_of_the_draw_are_those_of_the_theorem",
    ),
    "tables: noise halved": Mutant(
        "Mechanisms.tables.draw",
        "self._samplers.discrete_gaussian(next(scales))",
        "self._samplers.discrete_gaussian(next(scales) / 2)",
        LEARNERS + "test_tables_have_gaussian_noise_of_the_documented_scale",
    ),
    "bands of shape functions: a deviation that is too small": Mutant(
        "_growth",
        "velocity = _MOMENTUM * velocity + (np.arange(n) == i)",
        "velocity = (np.arange(n) == i) * 1.0",
        LEARNERS + "test_coefficients_that_no_record_moves_have_the_noise_that_the_model_says",
    ),
    "sums of products: sensitivity without the whole of the diagonal": Mutant(
        "PrivateRidge._release",
        "math.sqrt((b + 2 * c) ** 2 + b**2)",
        "(b + 2 * c)",
        LEARNERS + "test_the_release_of_a_ridge_moves_as_far_as_promised",
    ),
    "learners: noise halved": Mutant(
        "SharedTables.__init__",
        "relative = [moved / math.sqrt(share * len(moves))",
        "relative = [moved / 2 / math.sqrt(share * len(moves))",
        LEARNERS + "test_tables_have_gaussian_noise_of_the_documented_scale",
    ),
    "curator: noise halved": Mutant(
        "GaussianCurator._release",
        "sigma = gaussian_sigma(epsilon, delta, distance + ",
        "sigma = gaussian_sigma(2 * epsilon, delta, distance + ",
        "statistical/test_outsourced.py::test_curator_noise_is_normal_and_half_of_it_is_detected",
    ),
    "scale rounded to the nearest float": Mutant(
        "_scale",
        "round_up(Fraction(numerator) / Fraction(epsilon))",
        "numerator / epsilon",
        MECHANISMS + "test_scale_never_costs_more_than_epsilon",
    ),
    # ------------------------------------------------------------------ sensitivity
    "means: sensitivity halved": Mutant(
        "MeanOf.sensitivity",
        "return GRID if units.grouped else self.steps",
        "return -(-(GRID if units.grouped else self.steps) // 2)",
        SCORING + "test_one_record_can_change_a_mean_gain_by_the_sensitivity",
    ),
    "spread of gains: not within the sensitivity of the sum": Mutant(
        "spread_of",
        "return (2 * k * (G - k) + G) // (2 * G)",
        "return (2 * k * (G - k) + G) // G",
        SPREAD + "test_no_pair_of_gains_moves_both_sums_together_further_than_the_first_alone[64]",
    ),
    "spread of gains: of records, instead of the means of groups": Mutant(
        "MeanOf.statistics",
        "sums = (k, spread_of(k, G)) if",
        "sums = (k, spread_of(values * (G // self.steps), G)) if",
        SPREAD + "test_the_second_sum_is_that_of_the_means_of_units",
    ),
    "cells: sensitivity halved": Mutant(
        "Cells.sensitivity",
        "return 2 * unit_weight(units) * len(self.sizes)",
        "return unit_weight(units) * len(self.sizes)",
        SCORING + "test_one_record_can_change_counts_by_the_sensitivity",
    ),
    "moments: sensitivity of sums that are never negative": Mutant(
        "Moments.sensitivity",
        "_opposite(s4 - s5, s1, s6) + _opposite(s3, s2, s7)",
        "0",
        "core/test_clipping.py::test_the_worst_pair_moves_the_sums_by_the_sensitivity[False]",
    ),
    "moments: what squares vary by counted for nothing": Mutant(
        "Moments.sensitivity",
        "_opposite(s3, s2, s7)",
        "_opposite(s3, s2, 0)",
        "core/test_clipping.py::test_the_worst_pair_moves_the_sums_by_the_sensitivity[False]",
    ),
    "moments: a concave function bounded by its values at multiples": Mutant(
        "_opposite",
        "value + max(slope * (1 - a), -slope * a)",
        "value",
        "core/test_clipping.py::test_the_worst_pair_moves_the_sums_by_the_sensitivity[False]",
    ),
    "errors: squares taken to vary half as much": Mutant(
        "Moments.sampling_deviations",
        "np.sqrt(np.maximum([*variances, 0.0, 0.0], 0.0) * units.m)",
        "np.sqrt(np.maximum([*variances, 0.0, 0.0], 0.0) * units.m) / 2",
        "core/test_regressor_evaluation.py::test_deviations_of_sums_are_those_of_their_terms",
    ),
    "errors: no sampling error of sums": Mutant(
        "_sampling_error",
        "rng.standard_normal((_N_DRAWS, 1)) * deviations",
        "0 * rng.standard_normal((_N_DRAWS, 1)) * deviations",
        "core/test_regressor_evaluation.py::"
        "test_intervals_contain_the_number_of_the_population[1000-5.0-1.0-60]",
    ),
    "errors: those without clipping get an upper end": Mutant(
        "RegressorEvaluation.score",
        "found if clipped else found._replace(high=math.inf)",
        "found",
        "core/test_regressor_evaluation.py::"
        "test_clipped_numbers_are_named_and_others_have_a_lower_end_alone",
    ),
    "errors: bins hide nothing": Mutant(
        "_share_within",
        '"left" if end > 0 else "right") + (end > 0)',
        '"right")',
        "core/test_regressor_evaluation.py::test_ends_contain_what_bins_hide",
    ),
    "pairs: sensitivity halved": Mutant(
        "Pairs.sensitivity",
        "(2 if len(self.positives) == 1 else 4)",
        "(1 if len(self.positives) == 1 else 2)",
        SCORING + "test_one_record_can_change_pairs_by_the_sensitivity",
    ),
    "labels: sensitivity halved": Mutant(
        "count_labels",
        "return Sensitive([counts], 2 * W)",
        "return Sensitive([counts], W)",
        TWINS + "[numbers of labels]",
    ),
    "groups counted as records": Mutant(
        "Units.of",
        "if groups is None:\n            return cls(n)",
        "if groups is None or True:\n            return cls(n)",
        SCORING + "test_each_unit_has_the_rows_mean_and_weight_of_one_group",
    ),
    "groups of several types": Mutant(
        "units:_of_one_type",
        "or None in read or len(read) > 1:",
        "or None in read:",
        SCORING + "test_units_refuse_groups_that_are_not_labels_of_one_type",
    ),
    # A careless line in a learner: nobody can read records there.
    "a ridge keeps a count of targets": Mutant(
        "PrivateRidge._release",
        "columns = self._scale(records, tables)\n",
        "columns = self._scale(records, tables)\n"
        "        self.n_high_ = int((columns._rows > 0.9).sum())\n",
        SEALED,
    ),
    "a ridge adds noise to a count that nothing is charged for": Mutant(
        "PrivateRidge._release",
        "columns = self._scale(records, tables)\n",
        "columns = self._scale(records, tables)\n"
        "        noise = tables.spending._noise.discrete_gaussian(2.0)\n"
        "        self.n_high_ = noise([int((columns._rows > 0.9).sum())])\n",
        SEALED,
    ),
    "a ridge keeps a count from inside": Mutant(
        "PrivateRidge._release",
        "columns = self._scale(records, tables)\n",
        "columns = self._scale(records, tables)\n"
        '        keep = lambda rows: setattr(self, "n_high_", int((rows.y > 0.9).sum()))\n'
        "        columns._rows.then(keep)\n",
        "core/test_sealed.py::test_one_module_computes_with_records_and_by_functions_that_belong"
        "_to_no_object",
    ),
    "a descent keeps a norm": Mutant(
        "Gradients.at",
        "return self._rows.then(partial(gradient, W=W, clip=clip))",
        "self.largest = []\n"
        "        self._rows.then(lambda rows: self.largest.append(rows.norms.max()))\n"
        "        return self._rows.then(partial(gradient, W=W, clip=clip))",
        "core/test_sealed.py::test_one_module_computes_with_records_and_by_functions_that_belong"
        "_to_no_object",
    ),
    "a learner counts targets while it codes them": Mutant(
        "PrivateLearner._sealed",
        "return Records(",
        "self.n_high_ = int((rows.y > 0.9).sum())\n        return Records(",
        SEALED,
    ),
    "a learner counts missing numbers while it codes them": Mutant(
        "PrivateLearner._coded",
        "return table, occurring",
        "self.n_missing_ = int(np.isnan(table).sum())\n        return table, occurring",
        SEALED,
    ),
    "learners raise floating-point errors": Mutant(
        "PrivateLearner.fit",
        "    @ignore_float_errors()\n    def fit(",
        "    def fit(",
        "core/test_float_errors.py::test_an_odd_number_raises_nothing[ridge--1.7e+308-in y]",
    ),
    "a group's records summed": Mutant(
        "Units.mean",
        "return (2 * totals + sizes) // (2 * sizes)",
        "return totals",
        SCORING + "test_each_unit_has_the_rows_mean_and_weight_of_one_group",
    ),
    "groups numbered as they come": Mutant(
        "Units.of",
        "enumerate(sorted(set(labels)))",
        "enumerate(dict.fromkeys(labels))",
        "core/test_private_training.py::"
        "test_the_size_of_a_group_does_not_change_the_numbers_of_others",
    ),
    # ------------------------------------------------------------------ after a choice
    "after a choice: candidates not counted": Mutant(
        "luck_of",
        "ndtri(outside / n_compared)",
        "ndtri(outside)",
        CHOICE + "test_the_luckiest_of_equal_candidates_is_covered_exactly[64-150]",
    ),
    "after a choice: candidates of a search counted as one": Mutant(
        "WorstCase._released",
        "statistic, session, n)",
        "statistic, session, 1)",
        CHOICE + "test_a_search_counts_the_candidates_that_were_validated",
    ),
    "after a choice: evaluations do not know of it": Mutant(
        "release_scores",
        "n_compared=n_compared or 1)",
        "n_compared=1)",
        CHOICE + "test_an_evaluation_after_a_choice_has_longer_intervals_at_both_ends",
    ),
    "means: the second sum forgotten": Mutant(
        "MeanScore.interval",
        "within = max(0.0, float(nearest[1:].sum()) - noisy.scale) / most",
        "within = 0.0",
        CHOICE + "test_the_second_sum_says_how_precise_a_mean_is",
    ),
    "means: noise left out of the interval for the population": Mutant(
        "sampled_mean",
        "np.hypot(np.array([low, high]) - mean, np.array(ends) - mean)",
        "np.abs(np.array([low, high]) - mean)",
        CHOICE + "test_noise_is_fresh_and_joins_in_quadrature",
    ),
    "releases that need a score, without one": Mutant(
        "_check_strategy",
        "if not strategy.releases_score and (",
        "if False and (",
        CHOICE + "test_without_a_score_nothing_that_needs_one_is_accepted[asked2]",
    ),
    "comparison: sensitivity of one cell": Mutant(
        "RecordOwner.count_jointly",
        "return Sensitive(query.statistics(values, y, units), query.sensitivity(units))",
        "return Sensitive(query.statistics(values, y, units), query.sensitivity(units) // 2)",
        COMPARISON + "test_the_noise_is_that_of_the_sensitivity",
    ),
    "comparison: a record lies in a cell for each model": Mutant(
        "Agreement.record_values",
        "4 * stratum + right @ np.array([2, 1])",
        "4 * stratum[:, None] + right * np.array([2, 1])",
        COMPARISON + "test_one_unit_moves_counts_by_no_more_than_the_sensitivity",
    ),
    "area from pairs: unknown labels cost nothing": Mutant(
        "PairCounts.sensitivity",
        "times = self._times(units) + self.per_unknown(units)",
        "times = self._times(units)",
        "core/test_scores.py::"
        "test_no_record_moves_the_counts_further_than_the_sensitivity[pair counts]",
    ),
    # ------------------------------------------------------------------ unknown labels
    "unknown labels: counted as the first class": Mutant(
        "metrics._labels:class_numbers",
        "np.where(code < 0, len(classes), code)",
        "np.maximum(code, 0)",
        RANKING + "test_sizes_of_classes_are_counted",
    ),
    "unknown labels: noise alone is said to be some": Mutant(
        "_SAID",
        "_SAID, _MOST_NAMED = 0.1, 1e-3, 9",
        "_SAID, _MOST_NAMED = 0.1, 1e-1, 9",
        "core/test_scores.py::test_unknown_labels_are_rarely_said_of_noise_alone[20.0-confusion]",
    ),
    "unknown labels: never left out": Mutant(
        "settled",
        "if not len(query.unknown_counts(noisy.counts)) or",
        "if True or",
        "core/test_scores.py::test_unknown_labels_are_rarely_said_of_noise_alone[20.0-confusion]",
    ),
    "unknown labels: not said after a search": Mutant(
        "WorstCase._released",
        "unknown = released.unknown or ranked.unknown",
        'unknown = ""',
        LOW_UTILITY + "test_a_search_says_how_many_labels_are_unknown[missing-f1]",
    ),
    "unknown labels: not said of an evaluation": Mutant(
        "released",
        "hints = (evaluation._unknown, evaluation",
        'hints = ("", evaluation',
        LOW_UTILITY + "test_every_release_of_a_table_says_how_many_labels_are_unknown[comparison]",
    ),
    # ------------------------------------------------------------------ not clipped
    "gains not clipped": Mutant(
        "MeanOf.clipped",
        "np.clip(np.where(np.isnan(gain), a, gain), a, b)",
        "np.where(np.isnan(gain), a, gain)",
        SCORING
        + "test_one_unit_moves_statistic_and_counts_by_at_most_the_sensitivity[False-absolute]",
    ),
    "errors not clipped": Mutant(
        "Moments.clipped",
        "error.clip(-self.c_e, self.c_e)",
        "error",
        "core/test_scores.py::"
        "test_no_record_moves_the_counts_further_than_the_sensitivity[sums of r2]",
    ),
    "rows not cut to the unit ball": Mutant(
        "Scaling.rows",
        "shortened(self.columns(X), self.max_norm)",
        "self.columns(X) / self.max_norm",
        LEARNERS + "test_scaled_rows_lie_in_the_unit_ball_and_keep_their_direction",
    ),
    "columns are cut off at any epsilon": Mutant(
        "PrivateLearner._scaling_of_counts",
        "reach = self._wider(m, self._many_for_columns)",
        "reach = 1.0",
        LEARNERS + "test_less_is_cut_off_as_noise_vanishes_but_nothing_beyond_the_bounds_counts"
        "[PrivateRidge]",
    ),
    "values beyond the bounds count": Mutant(
        "indicated",
        "numbers if ends is None else numbers.clip(*ends)",
        "numbers",
        LEARNERS + "test_less_is_cut_off_as_noise_vanishes_but_nothing_beyond_the_bounds_counts"
        "[PrivateRidge]",
    ),
    "a warning says that a choice loses half as much": Mutant(
        "_scale_of_choice",
        "return 2 * scorer.query.sensitivity(units)",
        "return scorer.query.sensitivity(units)",
        "system/test_one_table.py::test_a_warning_says_what_a_search_costs[2-False]",
    ),
    "rows that are too long kept": Mutant(
        "integer_rows",
        "integers[squares > (steps + 1) ** 2] = 0",
        "pass",
        LEARNERS + "test_no_unit_has_rows_longer_than_promised",
    ),
    "products that are too long kept": Mutant(
        "IntegerRows.total",
        "steps[~fits] = 0.0",
        "pass",
        LEARNERS + "test_no_unit_moves_a_sum_of_products_further_than_promised",
    ),
    "categories are learnt from the records": Mutant(
        "declared_levels",
        'given.get(key_of_name(name), getattr(dtype, "categories", None))',
        "given.get(\n"
        "            key_of_name(name),\n"
        "            X.iloc[:, j].unique() if named and dtype.kind not in 'bf' else None,\n"
        "        )",
        "core/test_frames.py::"
        "test_undeclared_text_is_refused_before_the_charge_with_the_call_to_make[str]",
    ),
    "frequent values: a group counts for values of all its records": Mutant(
        "value_counts",
        "if rows.unit is None else rows.unit",
        "if True else rows.unit",
        FREQUENT + "replacing_a_unit_moves_counts_by_no_more_than_one_value_of_a_column[True]",
    ),
    "frequent values: those of no unit get noise": Mutant(
        "value_counts",
        "        if count\n",
        "",
        FREQUENT + "what_a_unit_has_in_other_records_is_not_counted",
    ),
    "frequent values: which of 1, 1.0 and True is released depends on the first record": Mutant(
        "_values_and_positions",
        "cells = [_value(cell) for cell in column.tolist()]",
        "cells = [None if _value(cell) is None else cell for cell in column.tolist()]",
        FREQUENT + "values_are_of_plain_types_in_an_order_that_no_record_decides",
    ),
    "frequent values: the threshold forgets the unit itself": Mutant(
        "least_count",
        "return 2 + threshold(",
        "return threshold(",
        FREQUENT + "a_value_of_one_unit_passes_as_seldom_as_its_part_of_delta_says[1e-07-1-30.0]",
    ),
    "frequent values: columns do not share delta": Mutant(
        "least_count",
        "threshold(std, n_columns, delta)",
        "threshold(std, 1, delta)",
        FREQUENT + "a_value_of_one_unit_passes_as_seldom_as_its_part_of_delta_says[0.01-5-30.0]",
    ),
    "frequent values: noise for one column": Mutant(
        "SharedTables.__init__",
        "(math.sqrt(2 * k), _OF_FREQUENT)",
        "(math.sqrt(2), _OF_FREQUENT)",
        FREQUENT + "no_unit_costs_more_than_promised[ridge-False]",
    ),
    "frequent values: their delta is spent on noise, too": Mutant(
        "SharedTables.__init__",
        "delta - rare, GAUSSIAN_ONLY",
        "delta, GAUSSIAN_ONLY",
        FREQUENT + "no_unit_costs_more_than_promised[ridge-False]",
    ),
    "frequent values: a search takes them for Gaussian": Mutant(
        "PrivateLearner.private_training",
        '"approximate" if asks_for_frequent(self.categories) else "GDP"',
        '"GDP"',
        FREQUENT + "a_search_takes_it_for_no_gaussian_release",
    ),
    "frequent values: no threshold": Mutant(
        "Mechanisms.tables.draw",
        "if count >= threshold",
        "if True",
        FREQUENT + "values_of_one_record_are_released_as_seldom_as_the_noise_says[False]",
    ),
    "a search reads texts alone in columns of objects": Mutant(
        "stand_in_rows",
        "rng, levels.get(j, ()))",
        "rng)",
        "core/test_frames.py::"
        "test_a_search_takes_typed_codes_and_objects_as_they_are_declared[levels0-False]",
    ),
    "a step sees the labels of rows": Mutant(
        "take_rows",
        "return numbered(X.iloc[rows])",
        "return X.iloc[rows]",
        PROTECTED
        + "test_a_step_sees_rows_numbered_from_0_whatever_one_label_is[texts-X_val-frame]",
    ),
    "arguments of fit keep the labels of rows that X loses": Mutant(
        "Training.of",
        "{k: numbered(v) for k, v in fit_params.items()",
        "{k: v for k, v in fit_params.items()",
        "core/test_split.py::test_rows_of_arguments_of_fit_are_numbered_as_those_of_x",
    ),
    "a gain is one object for all records": Mutant(
        "_ForProtected.find_class",
        "_Isolated if value is Custom else value",
        "value",
        CALLS + "test_a_gain_tells_no_record_of_another[Relative]",
    ),
    "a gain keeps what it noted of public rows": Mutant(
        "Custom.__call__",
        "own: Custom = fresh(packed(self))",
        "own = self",
        CALLS + "test_what_a_gain_keeps_of_public_rows_reaches_no_protected_record",
    ),
    "settings stay as a call leaves them": Mutant(
        "drop_errors.__exit__",
        "if _settings() != self._settings:",
        "if False:",
        CALLS + "test_a_gain_tells_no_record_of_another[sets_sklearn]",
    ),
    "settings of decimals stay as a call leaves them": Mutant(
        "drop_errors.__exit__",
        "decimal.setcontext(self._decimals.copy())",
        "pass",
        CALLS + "test_a_gain_tells_no_record_of_another[sets_decimals]",
    ),
    "a missing label of pyarrow rounds the others": Mutant(
        "as_table",
        "return _column_of_objects(given, X)",
        "return X.astype(object)",
        "core/test_split.py::test_a_missing_label_rounds_no_other",
    ),
    "cells that are read may say something": Mutant(
        "in_one_form",
        "@suppress_output()  # of casts, and of what objects say when they are copied",
        "",
        "core/test_split.py::test_cells_say_nothing_while_they_are_read[X_val]",
    ),
    "a splitter warns of protected labels": Mutant(
        "_first_two",
        "with suppress_output() if protected else nullcontext():",
        "with nullcontext():",
        "core/test_split.py::test_a_splitter_says_nothing_of_protected_labels",
    ),
    "public rows of a table with protected ones are as these made them": Mutant(
        "_taken_alone",
        "return narrowed(part)",
        "return part",
        "core/test_split.py::test_public_rows_of_a_table_with_protected_ones_show_nothing_of_these",
    ),
    "queries that are not listed count all records at once": Mutant(
        "query_for_protected",
        "    _check_listed(query)\n    return query",
        "    return query",
        CALLS + "test_only_listed_queries_count_all_records_at_once[query0]",
    ),
    "an interrupt that a record raises comes out": Mutant(
        "drop_errors.__exit__",
        "return True  # also of Ctrl-C",
        "return kind is not KeyboardInterrupt  # also of Ctrl-C",
        CALLS + "test_an_interrupt_takes_effect_after_the_table[exception]",
    ),
    "interrupts are not held back": Mutant(
        "hold_interrupts",
        "signal.signal(signal.SIGINT, lambda *_: held.append(None))",
        "signal.getsignal(signal.SIGINT)",
        CALLS + "test_an_interrupt_takes_effect_after_the_table[signal]",
    ),
    "public rows that get something else are no error": Mutant(
        "require_same",
        "if model.tried is not None and model.tried.difference:",
        "if False:",
        CALLS
        + "test_a_model_that_reads_the_form_of_its_table_is_refused_before_the_charge[search]",
    ),
    "gains of public rows are not compared": Mutant(
        "Rehearsal._difference_of_gains",
        "if not len(wrong):",
        "if True:",
        CALLS + "test_a_gain_that_shows_its_state_on_public_rows_is_refused_before_the_charge",
    ),
    "attrs of a frame reach estimators": Mutant(
        "_without_attrs",
        "table.attrs = {}",
        "pass",
        TWINS + "[attributes]",
    ),
    "labels in y become public without a word": Mutant(
        "public_classes",
        "if classes is None and warns:",
        "if False:",
        "core/test_frames.py::test_labels_that_become_public_are_warned_of_once_and_not_named[True]",
    ),
    "a missing category is one of the others": Mutant(
        "category_positions",
        "positions[[i for i in np.flatnonzero(positions < 0) if is_missing(cells[i])]] = n",
        "positions[positions < 0] = n",
        "core/test_frames.py::test_unknown_categories_are_zeros_and_missing_ones_a_category",
    ),
    "a shape function is that of another column": Mutant(
        "Curved.shape_function",
        "k = self._numbers.tolist().index(j)",
        "k = j",
        "core/test_frames.py::"
        "test_shape_functions_of_a_frame_are_of_the_column_that_they_name[None]",
    ),
    "a column draws trees once for each of its categories": Mutant(
        "chances_of_columns",
        "np.full(len(own) + 1, 1 / (len(own) + 1))",
        "np.ones(len(own) + 1)",
        "core/test_frames.py::test_trees_split_columns_alike_however_many_categories_they_have",
    ),
    "bins of a column not cut to the unit ball": Mutant(
        "Blocks._of_bins",
        "return shortened(values.reshape(len(columns), -1) / usual)",
        "return values.reshape(len(columns), -1) / usual",
        LEARNERS + "test_all_functions_of_a_record_together_have_a_norm_of_at_most_one",
    ),
    "a tree weighs as much as all": Mutant(
        "Blocks._of_trees",
        "share / math.sqrt(n_trees)",
        "share",
        LEARNERS + "test_all_functions_of_a_record_together_have_a_norm_of_at_most_one",
    ),
    "curator: rows not clipped": Mutant(
        "GaussianCurator._release",
        "Y = self._bounded(X)",
        "Y = X",
        "statistical/test_outsourced.py::test_rows_longer_than_max_norm_are_clipped",
    ),
    # ------------------------------------------------------------------ the waist
    "waist: public questions need not come first": Mutant(
        "PublicFirst.__call__",
        "if self.__over:",
        "if False:",
        WAIST + "test_public_questions_come_before_the_first_count",
    ),
    "waist: a search fits after it has counted": Mutant(
        "Session.search",
        "if not adaptive:",
        "if False:",
        WAIST + "test_a_search_fits_nothing_after_its_first_count",
    ),
    "waist: one way to count is forgotten": Mutant(
        "RecordOwner.curve",
        "self.require_public.end()",
        "pass",
        WAIST + "test_each_way_to_count_ends_public_questions",
    ),
    "waist: units with who is in which group": Mutant(
        "hold_out",
        "units.schema",
        "units",
        WAIST + "test_nobody_can_tell_from_what_is_public_who_is_in_which_group",
    ),
    "waist: rows in an attribute that all can read": Mutant(
        "RecordOwner.__init__",
        "self.__table, self.__training",
        "self.table, self.__table = table, table\n        self.__table, self.__training",
        WAIST + "test_no_attribute_of_a_session_leads_to_a_protected_row",
    ),
    "waist: a session can be stored": Mutant(
        "RecordOwner",
        "__copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse",
        "pass",
        WAIST + "test_owners_of_rows_and_series_cannot_be_copied_or_stored",
    ),
    "waist: the second part before the first": Mutant(
        "Spending.of_other_records",
        "self._require_charged",
        "lambda: None",
        WAIST + "test_the_second_part_cannot_be_spent_before_the_first",
    ),
    "waist: a series without a lock": Mutant(
        "Series.__call__",
        "with self._lock:",
        "if True:",
        WAIST + "test_two_threads_do_not_both_make_the_last_draw",
    ),
    "waist: draws beyond the last": Mutant(
        "Series.__call__",
        "self.n_left <= 0",
        "self.n_left == 0",
        WAIST + "test_two_threads_do_not_both_make_the_last_draw",
    ),
    "waist: fits are not charged": Mutant(
        "Series.charge",
        "self._budget.charge(self.loss)",
        "pass",
        WAIST + "test_a_model_is_opened_once_and_only_if_its_fits_are_charged",
    ),
    "waist: a copy of a series": Mutant(
        "Series",
        "__copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse",
        "pass",
        WAIST + "test_owners_of_rows_and_series_cannot_be_copied_or_stored",
    ),
    "waist: two second parts": Mutant(
        "Spending.of_other_records",
        "if self._divided:",
        "if False:",
        WAIST + "test_the_second_part_cannot_be_spent_before_the_first",
    ),
    "waist: a session makes budgets": Mutant(
        "RecordOwner.of_other_records",
        "raise TypeError(",
        "return super().of_other_records()\n        raise TypeError(",
        WAIST + "test_the_records_of_a_session_have_one_budget",
    ),
    "waist: the delta of the noise is not charged": Mutant(
        "Mechanisms._series",
        'max(price.delta, record.get("delta", 0.0))',
        'record.get("delta", price.delta)',
        WAIST + "test_the_delta_of_the_noise_is_charged",
    ),
    "waist: counts are opened as a model is": Mutant(
        "_opened",
        "if isinstance(sealed, Sensitive):",
        "if False:",
        WAIST + "test_counts_are_not_opened_as_a_model_is",
    ),
    "waist: what is released meanwhile does not count": Mutant(
        "Budget.charge",
        "            self._require(loss)  # a",
        "            # a",
        WAIST + "test_what_is_released_while_the_ledger_is_charged_counts",
    ),
    "waist: an error tells of a record": Mutant(
        "Secret.__computed",
        "except Exception:",
        "except ZeroDivisionError:",
        WAIST + "test_an_error_says_nothing_of_what_it_was_raised_for",
    ),
    "waist: public answers after the first count": Mutant(
        "Session.answers_of",
        "self.require_public()",
        "pass",
        WAIST + "test_public_questions_come_before_the_first_count",
    ),
    "waist: the time of a charge tells of records": Mutant(
        "PrivateLearner._tables",
        "time=records.begun,",
        "",
        "core/test_sealed.py::test_a_charge_bears_a_time_that_no_record_can_move",
    ),
    "waist: an objective without a lock": Mutant(
        "PrivateObjective.__call__",
        "with self._lock:",
        "if True:",
        "core/test_objective.py::test_two_threads_that_ask_for_one_candidate_use_one_call",
    ),
    "waist: a fresh budget for a release": Mutant(
        "Spending.release",
        "return self.release_counts(",
        "return Mechanisms(Budget(self.epsilon), self._samplers).release_counts(",
        WAIST + "test_parts_share_what_is_left_by_their_weights",
    ),
    # ------------------------------------------------------------------ charges
    "charged after the draw": Mutant(
        "Series.__call__",
        """            self.charge()
            if self.n_left <= 0:
                raise BudgetExceededError(f"{self.loss.release}: all {self.n} draws have been made")
            self.n_left -= 1
            return _draw(partial(self._draw, sealed), sealed)
""",
        """            drawn = _draw(partial(self._draw, sealed), sealed)
            self.charge()
            return drawn
""",
        MECHANISMS + "test_budget_is_charged_before_the_draw",
    ),
    "a series without an end": Mutant(
        "Series.__call__",
        "self.n_left -= 1",
        "self.n_left = max(1, self.n_left - 1)",
        MECHANISMS + "test_a_series_is_charged_once_before_its_first_draw_and_ends[0.0]",
    ),
    "budget: sums of floats": Mutant(
        "Budget._left",
        "Fraction(self.epsilon) - sum(Fraction(loss.epsilon) for loss in self._losses)",
        "Fraction(self.epsilon - sum(loss.epsilon for loss in self._losses))",
        "core/test_sensitive.py::test_budget_refuses_charge_that_exceeds_it_exactly",
    ),
    "budget: delta not compared": Mutant(
        "Budget._require",
        "or Fraction(loss.delta) > delta:",
        "or False:",
        "core/test_sensitive.py::test_budget_refuses_charge_that_exceeds_delta",
    ),
    "budget: spent by a forked process, too": Mutant(
        "Budget.require_own_process",
        "if os.getpid() != self._process:",
        "if False:",
        "core/test_objective.py::test_a_forked_process_has_no_budget",
    ),
    "fits that nothing counts": Mutant(
        "_count",
        "    _fits.append((epsilon, delta))\n",
        "    _fits.append((0.0, delta))\n",
        REPEATED + "test_each_further_fit_says_what_all_cost_together",
    ),
    "private candidates counted beside the search": Mutant(
        "uncounted",
        "token = _counting.set(False)",
        "token = _counting.set(True)",
        REPEATED + "test_candidates_that_train_privately_are_not_counted",
    ),
    "protected records marked as public": Mutant(
        "refuse_protected",
        "        for part in _parts(value.value) if",
        "        for part in (value.value,) if",
        REPEATED + "test_protected_records_are_not_public[listed]",
    ),
    "a view of the protected records as public ones": Mutant(
        "share_memory",
        "np.shares_memory(one, other) for",
        "False for",
        REPEATED + "test_a_view_of_the_protected_records_is_refused[1]",
    ),
    "ledger: not charged": Mutant(
        "Budget.charge",
        "if not self.reserved and self._before_first is not None:",
        "if self._losses and not self.reserved and self._before_first is not None:",
        LEDGER + "test_a_crash_between_charge_and_release_counts_as_spent",
    ),
    "ledger: delta not charged": Mutant(
        "grant",
        "ledger.charge, epsilon, delta, what=what",
        "ledger.charge, epsilon, 0.0, what=what",
        "core/test_objective.py::test_all_is_charged_before_the_first_draw",
    ),
    "ledger: more granted than charged": Mutant(
        "grant",
        'round_down(Fraction(parse_decimal("epsilon", epsilon)))',
        "float(epsilon)",
        LEDGER + "test_a_fit_spends_no_more_than_the_decimal_epsilon",
    ),
    "ledger: deltas not compared": Mutant(
        "refuse_excess",
        "if epsilon > opening.epsilon or delta > opening.delta:",
        "if epsilon > opening.epsilon:",
        LEDGER + "test_charges_are_accepted_exactly_when_they_fit_budget_and_share",
    ),
    "ledger: only this charge compared": Mutant(
        "refuse_excess",
        "if epsilon > opening.epsilon or delta",
        "if loss.epsilon > opening.epsilon or delta",
        LEDGER + "test_ten_charges_of_a_tenth_fit_a_budget_of_one_and_an_eleventh_does_not",
    ),
    "ledger: shares ignored": Mutant(
        "refuse_excess",
        "after.shares[who] > opening.share[who]:",
        "False:",
        LEDGER + "test_a_share_is_refused_with_words_that_say_what_to_do",
    ),
    "ledger: not durable": Mutant(
        "FileBook.append",
        "            _sync(self.descriptor)\n",
        "            pass\n",
        "system/test_ledger_crashes.py::test_power_failure_after_any_system_call",
    ),
    "ledger: not locked": Mutant(
        "FileBook._lock",
        "fcntl.LOCK_EX if self._adds else fcntl.LOCK_SH",
        "fcntl.LOCK_SH",
        LEDGER + "test_a_locked_ledger_is_refused_after_the_timeout",
    ),
    "ledger: losses per record added to those per patient": Mutant(
        "refuse_other_unit",
        'if unit in (None, "group", counted) or',
        "if True or",
        LEDGER + "test_a_loss_per_record_is_refused_by_a_ledger_of_patients",
    ),
    "ledger: a charge to one part counts for no other, and one to all for none": Mutant(
        "Totals.plus",
        "if name in (loss.parts or self.parts)",
        "if name in loss.parts",
        LEDGER + "test_charges_to_parts_are_accepted_exactly_if_each_part_has_it_left",
    ),
    "ledger: only the first of several parts is looked at": Mutant(
        "Totals.lost",
        "for name in parts or self.parts]",
        "for name in list(parts or self.parts)[:1]]",
        LEDGER + "test_charges_to_parts_are_accepted_exactly_if_each_part_has_it_left",
    ),
    "ledger: totals of parts are believed": Mutant(
        "PrivacyLedger._read_ends",
        "if last != first and opening.parts:",
        "if False:",
        LEDGER + "test_a_line_that_gives_back_or_does_not_count_for_a_part_is_refused",
    ),
    "ledger: charges to unknown parts taken": Mutant(
        "verified_entries",
        "if not (follows and known and",
        "if not (follows and",
        LEDGER + "test_a_line_that_gives_back_or_does_not_count_for_a_part_is_refused",
    ),
    "ledger: receipts keep quiet about parts": Mutant(
        "PrivacyLedger.charge",
        "return Receipt(opening.ledger, entry.number, entry.hash, of)",
        "return Receipt(opening.ledger, entry.number, entry.hash)",
        LEDGER + "test_the_report_says_that_parts_are_disjoint_by_the_owners_word",
    ),
    # ------------------------------------------------------------------ several fits
    "repeated fits cost as much as one": Mutant(
        "Repeated.each",
        "lambda e: e + self._more(e, each) <= epsilon",
        "lambda e: e <= epsilon",
        "core/test_repetition.py::test_pure_bound_holds_for_the_best_of_many_runs",
    ),
    "repeated fits cost as much as one, by profiles": Mutant(
        "Repeated.delta",
        "rest = epsilon - self._more(at, profile(at)).min()",
        "rest = epsilon",
        "core/test_repetition.py::test_profile_of_the_best_of_many_runs_is_within_the_bound",
    ),
    "n fits cost as much as one": Mutant(
        "Composed.each",
        "zcdp_within(epsilon, delta) / (n * k**2)",
        "zcdp_within(epsilon, delta) / k**2",
        "core/test_repetition.py::test_epsilon_and_delta_of_each_of_n_fits",
    ),
    "delta of GDP not rounded up": Mutant(
        "gdp:_log_delta",
        "less = (1 + rounding) * _mills(t)",
        "less = _mills(t)",
        "system/test_guidance.py::test_gdp_conversions_are_never_below_the_exact_ones",
    ),
    "a record added or removed taken for a replacement": Mutant(
        "_NEIGHBOURS",
        '"add-or-remove-one": 2',
        '"add-or-remove-one": 1',
        "core/test_private_training.py::test_a_replacement_is_two_steps_of_adding_or_removing",
    ),
    "a second budget for the second part": Mutant(
        "Spending.of_other_records",
        "Budget(self.epsilon, before",
        "Budget(2 * self.epsilon, before",
        "system/test_one_table.py::test_both_parts_spend_the_whole_budget_which_is_charged_once",
    ),
    # ------------------------------------------------------------------ company, state, order
    "companions not compared": Mutant(
        "ProtectedTable.beside_companions",
        "            if _as_expected(",
        "            if True or _as_expected(",
        PROTECTED + "test_record_that_changes_what_its_companions_get_is_predicted_apart",
    ),
    "one that fails takes all others": Mutant(
        "ProtectedTable.values",
        "            failing = self._failing_units(predict)\n",
        "            return query.lowest_values(self.y, self.n)\n",
        "core/test_evaluation.py::test_only_records_that_cannot_be_predicted_count_as_wrong",
    ),
    "one copy of a part for all records": Mutant(
        "Calls.copy",
        "return fresh(self._pickled)",
        "return vars(self).setdefault('one', fresh(self._pickled))",
        SEPARATELY + "test_no_record_changes_what_another_gets",
    ),
    "not checked row by row": Mutant(
        "RowByRowCheck.check",
        "if True in changes or changes[0] is None:",
        "if False:",
        "core/test_evaluation.py::test_batch_dependent_predictions_are_refused",
    ),
    "the list has a class whose rows share a search": Mutant(
        "_TABLE",
        "sklearn.decomposition B KernelPCA",
        "sklearn.decomposition B KernelPCA NMF",
        LISTED + "test_classes_that_do_not_belong_on_the_list_are_found",
    ),
    "the list has neighbours on sparse tables": Mutant(
        "_NEIGHBORS",
        'not issparse(getattr(e, "_fit_X", None)) and ',
        "",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "the list has classes that say they are from scikit-learn": Mutant(
        "_is_of",
        "return inside and getattr(home, cls.__name__, None) is cls",
        "return inside",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "the list has all ufuncs": Mutant(
        "_is_of_rows",
        "return not own or (function.nin, function.nout) != (1, 1)",
        "return False",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "the list holds under versions that nobody read": Mutant(
        "_is_read",
        "return _series(version) in map(_series, read)",
        "return True",
        LISTED + "test_nothing_is_listed_under_a_version_that_was_not_read",
    ),
    "own code is called on all records at once": Mutant(
        "_Walk.reduced",
        "        if not why or self.before is None:\n",
        "        if True:\n",
        PROTECTED
        + "test_own_code_moves_one_prediction_where_training_records_never_reach_a_branch",
    ),
    "one unit's output may declare another type": Mutant(
        "_Kind.rows",
        "if _declared(X) != self.declared:",
        "if False:",
        SEPARATELY
        + "test_a_record_of_which_a_users_function_makes_another_type_moves_its_own_count",
    ),
    "one unit's output may have cells of another type": Mutant(
        "_Kind.rows",
        " or not all(map(set.issubset, cells, self.cells)):",
        ":",
        SEPARATELY + "test_cells_of_a_type_that_no_companion_has_are_refused",
    ),
    "outputs of a part are views of its arrays": Mutant(
        "_Kind.rows",
        "else X[own]).copy())",
        "else X[own]))",
        SEPARATELY + "test_each_record_gets_what_it_gets_alone",
    ),
    "steps before a part are not in its key": Mutant(
        "_Walk.reduced",
        "+ self.before())",
        "+ packed(o))",
        SEPARATELY + "test_one_object_in_two_steps_does_not_share_what_other_steps_change",
    ),
    "models change the global generators": Mutant(
        "_begin_suppression",
        "    stack.callback(np.random.set_state, np.random.get_state(legacy=False))\n",
        "",
        ROWS + "test_validation_predictions_do_not_change_global_random_states",
    ),
    "models change the generator of module random": Mutant(
        "_begin_suppression",
        "    stack.callback(random.setstate, random.getstate())\n",
        "",
        ROWS + "test_validation_predictions_do_not_change_global_random_states",
    ),
    "candidates scored by what is no probability": Mutant(
        "_values",
        "    query.check(public.response)\n",
        "",
        "core/test_evaluation.py::"
        "test_a_candidate_whose_response_is_no_probabilities_fails[neg_log_loss]",
    ),
    "draws for one record change those for the next": Mutant(
        "_numpy_generator.restore",
        "if memory is None or memory.raw != before:",
        "if False:",
        SEPARATELY + "test_what_one_record_draws_changes_no_draw_for_another",
    ),
    "draws by `random` for one record change those for the next": Mutant(
        "_generators",
        "[_numpy_generator(), partial(random.setstate, state)]",
        "[_numpy_generator()]",
        SEPARATELY + "test_what_one_record_draws_changes_no_draw_for_another",
    ),
    "tables: a missing cell decides what type a column has": Mutant(
        "_of_categories",
        "return column.cat.rename_categories(categories.astype(float if exact else object))",
        "return column",
        TWINS + "[types of columns]",
    ),
    "tables: a row decides whether the entries of all are sorted": Mutant(
        "_of_rows_alone",
        "        return _canonical(X)\n",
        "        return X\n",
        TWINS + "[order of entries]",
    ),
    "a missing category decides what type a part's outputs have": Mutant(
        "_Kind.joined",
        "rows = as_table(stack(parts).copy())",
        "rows = stack(parts).copy()",
        SEPARATELY + "test_a_missing_category_of_a_users_function_moves_its_own_count",
    ),
    "the list has objects that are put in frames": Mutant(
        "_puts_objects_in_frames",
        "    if not isinstance(estimator, _SetOutputMixin):\n",
        "    if True:\n",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "tables: models are fitted on other types than they meet": Mutant(
        "canonical:_columns",
        "return X.astype(common), X_val.astype(common)",
        "return X, X_val.astype(common)",
        "core/test_split.py::test_tables_of_any_two_types_of_numbers_get_one_form[frames]",
    ),
    "labels: the longest one held out decides the type of public ones": Mutant(
        "labels_in_one_form",
        "y = of_own_rows(y)",
        "pass",
        "core/test_split.py::test_the_length_of_a_protected_label_shows_in_nothing[array-cv]",
    ),
    "labels: rows of another library keep the texts of all": Mutant(
        "of_own_rows",
        'np.asarray(values) if hasattr(values, "to_pandas") else _of_rows_alone(values)',
        "_of_rows_alone(values)",
        "core/test_split.py::test_the_length_of_a_protected_label_shows_in_nothing[polars-cv]",
    ),
    "labels: protected ones have the length of the longest": Mutant(
        "as_labels",
        "return without_length(dense(y))",
        "return dense(y)",
        "core/test_split.py::"
        "test_protected_texts_have_no_length_and_training_labels_their_own[array-given1]",
    ),
    "labels: a gain gets texts of the length of the longest": Mutant(
        "Custom.of_one",
        "else without_length(response)",
        "else response",
        "core/test_split.py::test_a_gain_gets_texts_as_objects_whatever_others_are",
    ),
    "fit parameters: the longest text held out decides the type of all": Mutant(
        "hold_out",
        "{name: of_own_rows(value) for",
        "{name: value for",
        "core/test_split.py::"
        "test_texts_among_fit_parameters_are_as_wide_as_those_of_the_training_part",
    ),
    "names of columns are compared as texts": Mutant(
        "key_of_name",
        'return kind, None if kind == "missing" else name',
        "return str(name)",
        "core/test_split.py::test_names_of_columns_are_compared_with_their_types_before_the_charge"
        "[years-auto]",
    ),
    "an error of a splitter is quoted": Mutant(
        "_first_two",
        "raises {type(error).__name__}",
        "raises {error!r}",
        "core/test_split.py::test_what_a_splitter_raises_quotes_no_label[y0]",
    ),
    "fit parameters not checked": Mutant(
        "check_fit_params",
        "if not (marked or per_row(value, n)):",
        "if False:",
        "core/test_fit_parameters.py::test_unmarked_records_are_refused_before_anything_is_fitted_or_charged",
    ),
    # ------------------------------------------------------------------ raw scores
    "a sensitive value printed": Mutant(
        "Secret.__repr__",
        'return f"<{type(self).__name__}: value withheld>"',
        'return f"<{type(self).__name__}: {self.__value}>"',
        "core/test_sensitive.py::test_sensitive_is_not_printed_or_logged",
    ),
    "a sensitive value pickled": Mutant(
        "Secret",
        "__copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse",
        "pass",
        "core/test_sensitive.py::test_ordinary_operations_do_not_read_sensitive",
    ),
    "raw scores in cv_results_": Mutant(
        "WorstCase._released",
        "best, n = history.fitted[chosen], len(validated)",
        "best, n = history.fitted[chosen], len(validated)\n"
        "        for i, raw in zip(history.fitted, statistics._open()[:, 0]):\n"
        "            object.__setattr__(candidates[i], 'public_score', float(raw))",
        LEAKS,
    ),
    "a warning with raw counts": Mutant(
        "RecordOwner.count_each",
        "            return joined",
        "            warn(str([row._open() for row in rows]))\n            return joined",
        LEAKS,
    ),
    "warnings of predictions shown": Mutant(
        "_begin_suppression",
        '    _replace(warnings, "_showwarnmsg", lambda message: None, stack)\n',
        "",
        ROWS + "test_validation_warnings_are_suppressed_in_threads",
    ),
    "errors of predictions raised": Mutant(
        "drop_errors.__exit__",
        "return True  # also of Ctrl-C",
        "return False  # also of Ctrl-C",
        "core/test_evaluation.py::test_only_records_that_cannot_be_predicted_count_as_wrong",
    ),
    # ------------------------------------------------------------------ comparisons
    "comparison: the first model predicts for both": Mutant(
        "RecordOwner.count_jointly",
        "[self.__table.values(model, part).reshape(-1) for model, part in each]",
        "[self.__table.values(models[0], part).reshape(-1) for model, part in each]",
        COMPARISON + "test_numbers_of_three_classes_are_those_of_sklearn",
    ),
    "comparison: a minus b": Mutant(
        "ModelComparison.score.difference",
        "return of(1, counts, b) - of(0, counts, a)",
        "return of(0, counts, a) - of(1, counts, b)",
        COMPARISON + "test_numbers_of_three_classes_are_those_of_sklearn",
    ),
    "comparison: undefined numbers cancel": Mutant(
        "ModelComparison.score.difference",
        "(None, None) if end is None else ends\n",
        "(None, None) if end is None else (ends[0], ends[0])\n",
        COMPARISON + "test_undefined_differences_may_be_anything",
    ),
    "comparison: one model is not checked": Mutant(
        "private_comparison",
        "session.ask(model, part, prediction=prediction) for model, part in both",
        "session.ask(model_a, part, prediction=prediction) for model, part in both",
        COMPARISON + "test_each_model_is_checked_row_by_row",
    ),
    # ------------------------------------------------------------------ noise and sampling
    "population: no sampling error": Mutant(
        "draws",
        "    if sampling:\n        counts",
        "    if False:\n        counts",
        POPULATION
        + "linear_functions_of_draws_have_the_variance_of_noise_and_sampling[1.0-records]",
    ),
    "population: half of the noise": Mutant(
        "draws",
        "centre - noise, units",
        "centre - noise / 2, units",
        POPULATION
        + "linear_functions_of_draws_have_the_variance_of_noise_and_sampling[1.0-records]",
    ),
    "population: a group counts as many records": Mutant(
        "_sampling_error",
        "shape = counts / unit_weight(units) +",
        "shape = counts +",
        POPULATION
        + "linear_functions_of_draws_have_the_variance_of_noise_and_sampling[1.0-groups]",
    ),
    "population: what bins hide is added to the sampling error": Mutant(
        "RankingScore.interval",
        "math.hypot if sampling else operator.add",
        "operator.add",
        POPULATION + "what_bins_hide_is_independent_of_sampling",
    ),
    "average precision: simulated values are cut off at 1": Mutant(
        "RankingScore.interval",
        'if self.name == "average_precision":\n            low, high',
        "if False:\n            low, high",
        POPULATION + "average_precisions_near_one_are_covered",
    ),
    "evaluations: warnings speak of sampling": Mutant(
        "Evaluation._width",
        '_, low, high = self.score(name, interval="records")',
        "_, low, high = self.score(name)",
        "core/test_private_evaluation.py::"
        "test_intervals_for_the_population_contain_those_for_the_records",
    ),
    # ------------------------------------------------------------------ subgroups
    "subgroups: the noise of one of them for all records": Mutant(
        "draws",
        "_N_DRAWS, len(query.subgroups))",
        "_N_DRAWS, 1)",
        SUBGROUPS + "test_a_sum_over_subgroups_has_the_noise_of_all_of_them",
    ),
    "subgroups: as many records as there are in all": Mutant(
        "Cells.adjusted",
        "known, total = len(self.subgroups) == self.n_subgroups, total_weight(units)",
        "known, total = True, total_weight(units)",
        SUBGROUPS + "test_numbers_of_subgroups_are_those_of_sklearn[sex]",
    ),
    "subgroups: a record is counted among all records, too": Mutant(
        "Cells.statistics",
        "columns = values.reshape(len(values), -1).T + first",
        "columns = values.reshape(len(values), -1).T + first\n"
        "        columns = np.concatenate([columns, columns % sum(self.sizes)])",
        SUBGROUPS + "test_any_record_replaced_by_any_other_moves_the_sensitivity_at_most[1-2]",
    ),
    "subgroups: a cell raises what it likes": Mutant(
        "_place",
        "with suppress(Exception):  # of a cell",
        "with suppress(ValueError):  # of a cell",
        SUBGROUPS + "test_a_cell_that_is_no_level_is_other_and_changes_no_other_cell",
    ),
    "subgroups: levels in an error": Mutant(
        "subgroups:_checked",
        "an object of type {type(levels).__name__}",
        "an object of type {type(levels).__name__} {list(levels)}",
        SUBGROUPS + "test_errors_say_what_to_do_and_quote_no_value",
    ),
    "subgroups: of each record, kept by the evaluation": Mutant(
        "Units.schema",
        "return Units(self.m, ",
        "return Units(subgroups=self.subgroups, m=self.m, labels=",
        SUBGROUPS + "test_an_evaluation_keeps_nobodys_subgroup",
    ),
    "subgroups: no word of levels without records": Mutant(
        "SubgroupScores._released_hint",
        "if size.low <= 0]",
        "if size.low < 0]",
        SUBGROUPS + "test_a_level_without_records_is_warned_of_if_many_are_other",
    ),
    "subgroups: each difference has 95 % for itself": Mutant(
        "SubgroupScores.group_differences",
        "_confidence=confidence)",
        "_confidence=CONFIDENCE)",
        SUBGROUPS + "test_intervals_of_differences_are_for_all_of_them_at_once",
    ),
    # ------------------------------------------------------------------ what bins hide
    "areas: no allowance for the order within bins": Mutant(
        "hidden_order",
        "return shift, abs(shift) + 3",
        "return shift, 0 * abs(shift) + 0",
        AREAS + "[1.0-forest-average_precision]",
    ),
    "areas: a forest's scores have bins of their own": Mutant(
        "few",
        "<= len(scores) / 1000",
        "<= len(scores) / 2",
        AREAS + "[1000.0-forest-roc_auc]",
    ),
    "Brier score: probabilities lie at the means of their bins": Mutant(
        "brier_score",
        "if end is not None:",
        "if False:",
        "statistical/test_evaluation_intervals.py::"
        "test_what_bins_hide_of_the_brier_score_lies_in_its_interval",
    ),
    "public rows are asked after protected predictions": Mutant(
        "WorstCase._released",
        "        if own.releases_all:\n",
        "        own.fitted(candidates[best].params).predict(session.training.X)\n"
        "        if own.releases_all:\n",
        "core/test_evaluation.py::test_after_protected_predictions_nothing_runs_but_these[several]",
    ),
    # ------------------------------------------------------------------ warnings
    "wide intervals: expected with a quarter of the noise": Mutant(
        "expected_widths",
        "scale = price.scale(scorer.counts.sensitivity(units))",
        "scale = price.scale(scorer.counts.sensitivity(units)) / 4",
        LOW_UTILITY + "test_records_and_epsilon_that_are_named_halve_the_width[f1]",
    ),
    "wide intervals: warned of after predictions": Mutant(
        "Guidance.run",
        "            self.warned = warn_of_wide_intervals(",
        "            self._oracle.fit_candidates(params)\n"
        "            self._oracle.compare(params, self._oracle.scorer.query)\n"
        "            self.warned = warn_of_wide_intervals(",
        LOW_UTILITY + "test_no_protected_record_has_been_predicted_when_the_warning_is_given",
    ),
    "contradiction: no union bound": Mutant(
        "shift_hints",
        "1 - _FALSE_ALARMS / 2 / n_scored",
        "1 - _FALSE_ALARMS / 2",
        LOW_UTILITY + "test_public_scores_of_the_same_data_are_rarely_contradicted",
    ),
    # ------------------------------------------------------------------ tables of papers
    "specificity is the sensitivity": Mutant(
        "usual",
        "[positive ^ (name in _OF_OTHER)]",
        "[positive]",
        "core/test_clinical_scores.py::test_numbers_of_labels_are_those_of_sklearn",
    ),
    "net benefit: false positives weigh as much as true ones": Mutant(
        "ClinicalScores._net_benefit",
        "tp - fp * p / (1 - p)",
        "tp - fp",
        "core/test_clinical_scores.py::test_net_benefit_follows_its_definition",
    ),
    "calibration slope in addition to a slope of 1": Mutant(
        "calibration_fit",
        "0.0 if slope else x",
        "x",
        "core/test_clinical_scores.py::test_fit_is_an_unpenalised_logistic_regression_of_bins",
    ),
    "calibration that is not found seems to be": Mutant(
        "calibration_fit",
        "np.where(small.all(axis=1), w[:, -1],",
        "np.where(True, w[:, -1],",
        "core/test_clinical_scores.py::test_of_separated_classes_the_slope_is_undefined",
    ),
    "a subgroup is printed although it is too small": Mutant(
        "Evaluation.table",
        'table.loc[table["note"] != "", "text"]',
        'table.loc[table["note"] == "?", "text"]',
        "core/test_score_table.py::test_rows_by_subgroup_follow_those_of_all_records",
    ),
    # ------------------------------------------------------------------ disclosure records
    "a record promises an epsilon where the noise was seeded": Mutant(
        "PrivacyReport.to_dict",
        '"epsilon": self.epsilon if private else None',
        '"epsilon": self.epsilon',
        "system/test_disclosure.py::test_a_record_without_a_guarantee_has_no_epsilon",
    ),
    "a record has a field that the schema does not describe": Mutant(
        "Evaluation.to_dict",
        '"format": privacy["format"], "m": self.m',
        '"more": 0, "format": privacy["format"], "m": self.m',
        "system/test_disclosure.py::test_the_record_of_every_release_is_what_the_schema_describes"
        "[of_two_classes]",
    ),
    "a record without the receipts of ledgers": Mutant(
        "PrivacyReport.to_dict",
        '"ledger": [receipt._asdict() for receipt in self.receipts],',
        '"ledger": [],',
        "system/test_disclosure.py::test_unknown_and_missing_keys_are_refused",
    ),
    # ------------------------------------------------------------------ strategies of papers
    "Algorithm 2 releases the best score instead of the last": Mutant(
        "GPNoiseFree._released_of",
        "return statistics[-1]",
        "return max(statistics)",
        "statistical/test_kusner2015.py::"
        "test_algorithm_2_releases_expected_score_with_expected_noise",
    ),
    "a modeler that may repeat forgets a pending row with each outcome": Mutant(
        "Modeler.tell",
        "                self.pending.remove(r)",
        "                self.pending = [row for row in self.pending if row != r]",
        "statistical/test_outsourced.py::test_rows_may_be_asked_for_again_as_in_the_paper",
    ),
}

# For each claim of the papers, a bug that its check in `claims.csv` must detect.
BUGS_OF_CLAIMS = {
    "K1": (
        "CandidateBounds.sensitivity_of_mean",
        "+ self._c(3)",
        "* 0 + self._c(3) / 4",
    ),
    "K2": ("_log_likelihood", "(1 + sign * grid)", "(1 - sign * grid)"),
    "K3": (
        "CandidateBounds.candidate_error",
        "2 * self.sensitivity_of_mean / epsilon",
        "self.sensitivity_of_mean / epsilon",
    ),
    "K4": ("CandidateBounds.mean_regret", "return self._band + ", "return "),
    "K5": (
        "NoisyBounds.noise_term",
        "math.log(6 * self.T / self.delta)",
        "math.log(3 / self.delta)",
    ),
    "K6": ("CandidateBounds.beta", "self.n_candidates * t**2", "self.n_candidates * t"),
    "K7": (
        "NoisyBounds._noise_of_best",
        "math.log(2 * self.T / self.delta)",
        "math.log(2 / self.delta)",
    ),
    "K8": (
        "GPNoiseFree.run",
        "model.steps(bounds.sensitivity)",
        "model.steps(bounds.c)",
    ),
    "K9": ("LipschitzBounds.between", "L / (highest * lowest)", "L / highest**2"),
    "K10": (
        "LipschitzBounds._record_term",
        "        if self.lowest_at_zero:\n",
        "        if True:\n",
    ),
    "K11": (
        "CandidateBounds.sensitivity_of_mean",
        "2 * math.sqrt(self.beta(self.T + 1))",
        "2 * math.sqrt(self.beta(16))",
    ),
    "K12": (
        "GPNoisy.run",
        "trace, candidate_bounds.sensitivity_of_mean",
        "trace, candidate_bounds._c(3)",
    ),
    "O1": ("projection_dimension", "math.ceil(8 * (", "math.ceil(4 * ("),
    "O2": (
        "ProjectionCurator._release",
        "Z = X @ M / math.sqrt(r)",
        "Z = np.rint(X @ M / math.sqrt(r))",
    ),
    "O3": ("stretch_factor", "1 + (omega / s_min) ** 2", "1 + omega / s_min"),
    "O4": ("RegretBounds._learning_term", "return 24 / math.log1p", "return 2 / math.log1p"),
    "O6": ("projection_threshold", "float(16 * logs / epsilon)", "float(8 * logs / epsilon)"),
    "O7": ("GaussianCurator._release", "spread=sigma / step", "spread=sigma / step / 2"),
    "C1": (
        "published_distribution",
        "return total.breakpoints, ",
        "return np.rint(total.breakpoints), ",
    ),
    "C2": (
        "published_distribution",
        "dtype=float) / utility_bound",
        "dtype=float) / 2 / utility_bound",
    ),
    "C3": ("excess_utility_bound", "2 * logs / epsilon", "logs / epsilon"),
    "C4": ("dispersion", "b = np.sort(", "b = np.unique("),
    "C5": ("expected_utility_bound", "for p in (1, G)", "for p in (1, 1)"),
    "C6": ("rotation_dispersion_bound", "math.floor(mean + above)", "math.floor(mean / 2)"),
    "C7": ("SLinear._objectives", "b[k] / parameters + c[k]", "b[k] + c[k]"),
    "C8": ("excess_utility_bound", "2 * logs / epsilon + k", "2 * logs / epsilon"),
    "R1": (
        "Noise.permute_and_flip",
        "measures.max_divergence(), scale",
        "measures.zero_concentrated_divergence(), scale",
    ),
    "R2": (
        "Noise.discrete_laplace",
        "make_laplace(_integers(), metric, scale=scale)",
        "make_laplace(_integers(), metric, scale=scale / 2)",
    ),
    "R3": (
        "Repeated.mu_within",
        "lambda e: delta_of_gdp(mu, e)",
        "lambda e: delta_of_gdp(mu / 2, e)",
    ),
    "R4": ("delta_of_gaussian", "epsilon + float(log_ndtr(", "float(log_ndtr("),
    "R5": ("log_delta_of_renyi", " - (a + 1) * np.log1p(1 / a)", ""),
    "R6": (
        "Price.scale",
        "math.hypot(sensitivity * self.spread, _DISCRETE)",
        "math.hypot(sensitivity * self.spread / 2, _DISCRETE)",
    ),
    "R7": ("information_gain_bound", "math.e / (math.e - 1) * gained", "gained / 2"),
    "R8": ("_relevant", "keep |= passes", "keep &= passes"),
}

CHECKS = dict(
    line.split(",") for line in (Path(__file__).parent / "claims.csv").read_text().splitlines()[1:]
)
MUTANTS |= {
    f"claim {claim}": Mutant(*bug, CHECKS[claim].removeprefix("tests/"))
    for claim, bug in BUGS_OF_CLAIMS.items()
}
