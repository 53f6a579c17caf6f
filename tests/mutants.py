"""Planted bugs of the package, each of which a test of the default suite must detect.

They are what the tests are measured by: a test may go if its bugs are still detected. A mutant
replaces a text, which occurs once in a file of the package. `system/test_mutants.py` plants them.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A bug: in `file`, `new` instead of `old`; `test` must fail then."""

    file: str
    old: str
    new: str
    test: str


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
LISTED = "core/test_listed.py::"
AREAS = "statistical/test_score_intervals.py::test_areas_of_bins_by_rows_that_a_model_was_fitted_on"
POPULATION = "core/test_population_intervals.py::test_"
LEAKS = "system/test_leaks.py::test_no_raw_score_is_kept_printed_or_logged"

MUTANTS = {
    # ------------------------------------------------------------------ too little noise
    "seeded noise in threads that inherit the context": Mutant(
        "_privacy/noise.py",
        "active and active[-1].thread == get_ident()",
        "active",
        "core/test_testing.py::test_no_other_thread_draws_seeded_noise",
    ),
    "seeded noise after its end": Mutant(
        "_privacy/noise.py",
        "own.active = False",
        "pass",
        "core/test_testing.py::test_no_seed_outlives_its_statement",
    ),
    "tasks of workers draw unseeded noise": Mutant(
        "_counting/progress.py",
        "with seed_noise(seed):",
        "with seed_noise(None):",
        "core/test_testing.py::test_models_that_are_fitted_in_workers_are_seeded_alike[loky]",
    ),
    "score of the validation set without a warning": Mutant(
        "search/_delegation.py",
        "X is validated()",
        "False",
        "core/test_search.py::test_score_of_the_validation_set_warns",
    ),
    "ranges of columns: sensitivity of one unit": Mutant(
        "learners/_scaling.py",
        "return _STEPS * math.sqrt(2 * d)",
        "return _STEPS * math.sqrt(d)",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: sensitivity of sizes without pairs": Mutant(
        "learners/_scaling.py",
        "(2.5 if pairs else 2) * d",
        "2 * d",
        LEARNERS + "test_replacing_a_unit_moves_counts_as_far_as_promised",
    ),
    "ranges of columns: a unit is in two pairs": Mutant(
        "learners/_scaling.py",
        "first[order[half : 2 * half]]",
        "first[np.roll(order[:half], 1)]",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: a group counts for more than a record": Mutant(
        "learners/_scaling.py",
        "_STEPS // np.bincount(unit)[unit]",
        "np.full(n, _STEPS)",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: cells by what was counted without noise": Mutant(
        "learners/_scaling.py",
        "places.zoom(release(places.counts(X, units.labels)), std)",
        "release(places.counts(X, units.labels)), places.zoom(places.counts(X, units.labels), std)",
        LEARNERS + "test_no_unit_moves_counts_further_than_promised",
    ),
    "ranges of columns: shares of the budget that add up to more": Mutant(
        "learners/_base.py",
        "rest = 1 - sum(share for _, share in counts)",
        "rest = 1.0",
        LEARNERS + "test_tables_have_gaussian_noise_of_the_documented_scale[False]",
    ),
    "choice: noise halved": Mutant(
        "_privacy/mechanisms.py",
        "sampler(price.scale(2 * scores.sensitivity))",
        "sampler(price.scale(scores.sensitivity))",
        DISTRIBUTIONS + "test_selection_has_permute_and_flip_distribution[scores0-1-seed]",
    ),
    "counts: noise halved": Mutant(
        "_privacy/mechanisms.py",
        "tuple(noise(scale)(",
        "tuple(noise(scale / 2)(",
        DISTRIBUTIONS + "test_counts_have_discrete_laplace_noise[seed]",
    ),
    "functions of the confusion matrix: half of the width": Mutant(
        "scoring/_ranking.py",
        "float((self.high - self._lowest).max())",
        "float((self.high - self._lowest).max() / 2)",
        RANKING + "test_one_more_record_raises_a_ranking_by_the_width_at_most[2-7-f1]",
    ),
    "average precision: half of the width": Mutant(
        "scoring/_pairs.py",
        "unit_weight(units) * (1 + self._log(units))",
        "unit_weight(units) * (1 + self._log(units)) / 2",
        RANKING
        + "test_one_record_moves_rankings_of_orders_by_the_sensitivity_at_most[PrecisionSum]",
    ),
    "variance of errors: half of the width": Mutant(
        "scoring/_variance.py",
        "(ee - e**2 / units.m), 4.0)",
        "(ee - e**2 / units.m), 2.0)",
        RANKING + "test_the_width_of_the_variance_of_errors_is_reached",
    ),
    "mean of areas: the width of one class": Mutant(
        "scoring/_pairs.py",
        "_others(units)) * (first + second)",
        "_others(units)) * second",
        RANKING + "test_one_record_moves_rankings_of_orders_by_the_sensitivity_at_most[MeanArea]",
    ),
    "counts: noise of one candidate for all": Mutant(
        "_privacy/mechanisms.py",
        "price.scale(counts.shape[0] * counts.sensitivity)",
        "price.scale(counts.sensitivity)",
        MECHANISMS + "test_noise_has_scale_of_joint_sensitivity_of_counts_and_of_all_candidates",
    ),
    "Gaussian noise halved": Mutant(
        "_privacy/mechanisms.py",
        "math.sqrt(n) / gdp_within(epsilon, delta)",
        "math.sqrt(n) / 2 / gdp_within(epsilon, delta)",
        "statistical/test_release_noise.py::"
        "test_noise_of_a_release_has_its_distribution[all candidates, Gaussian]",
    ),
    "configurator: half of the sensitivity": Mutant(
        "papers/balcan2018/_configurator.py",
        "u(grid)[:, None], _STEPS)",
        "u(grid)[:, None], _STEPS // 2)",
        "statistical/test_configuration.py::"
        "test_integers_and_scale_of_the_draw_are_those_of_the_theorem",
    ),
    "tables: noise halved": Mutant(
        "_privacy/mechanisms.py",
        "self.noise.discrete_gaussian(next(scales))",
        "self.noise.discrete_gaussian(next(scales) / 2)",
        LEARNERS + "test_tables_have_gaussian_noise_of_the_documented_scale",
    ),
    "learners: noise halved": Mutant(
        "learners/_base.py",
        ".tables(price, relative, purpose=what)",
        ".tables(price, [each / 2 for each in relative], purpose=what)",
        LEARNERS + "test_tables_have_gaussian_noise_of_the_documented_scale",
    ),
    "curator: noise halved": Mutant(
        "papers/kharkovskii2020/_curators.py",
        "sigma = gaussian_sigma(epsilon, near, distance + ",
        "sigma = gaussian_sigma(2 * epsilon, near, distance + ",
        "statistical/test_outsourced.py::test_curator_noise_is_normal_and_half_of_it_is_detected",
    ),
    "scale rounded to the nearest float": Mutant(
        "_privacy/mechanisms.py",
        "round_up(Fraction(numerator) / Fraction(epsilon))",
        "numerator / epsilon",
        MECHANISMS + "test_scale_never_costs_more_than_epsilon",
    ),
    # ------------------------------------------------------------------ sensitivity
    "means: sensitivity halved": Mutant(
        "scoring/_queries.py",
        "return GRID if units.grouped else self.steps",
        "return -(-(GRID if units.grouped else self.steps) // 2)",
        SCORING + "test_one_record_can_change_a_mean_gain_by_the_sensitivity",
    ),
    "cells: sensitivity halved": Mutant(
        "scoring/_queries.py",
        "return 2 * unit_weight(units) * len(self.sizes)",
        "return unit_weight(units) * len(self.sizes)",
        SCORING + "test_one_record_can_change_counts_by_the_sensitivity",
    ),
    "moments: sensitivity of sums that are never negative": Mutant(
        "scoring/_queries.py",
        "sum(self.steps) + opposite + 2 * len(self.steps)",
        "sum(self.steps) + 2 * len(self.steps)",
        "core/test_clipping.py::test_the_worst_pair_moves_the_sums_by_the_sensitivity[False]",
    ),
    "moments: largest errors counted for nothing": Mutant(
        "scoring/_queries.py",
        "sum(self.steps) + opposite + 2 * len(self.steps)",
        "sum(self.steps[:5]) + opposite + 2 * len(self.steps)",
        "core/test_clipping.py::test_the_worst_pair_moves_the_sums_by_the_sensitivity[False]",
    ),
    "pairs: sensitivity halved": Mutant(
        "scoring/_pairs.py",
        "(2 if len(self.positives) == 1 else 4)",
        "(1 if len(self.positives) == 1 else 2)",
        SCORING + "test_one_record_can_change_pairs_by_the_sensitivity",
    ),
    "labels: sensitivity halved": Mutant(
        "_counting/secret_fits.py",
        "return Sensitive([counts], 2 * W)",
        "return Sensitive([counts], W)",
        "system/test_one_table_leaks.py::"
        "test_no_unit_moves_what_gets_noise_further_than_promised_nor_says_a_word",
    ),
    "groups counted as records": Mutant(
        "_data/units.py",
        "if groups is None:\n            return cls(n)",
        "if groups is None or True:\n            return cls(n)",
        SCORING + "test_each_unit_has_the_rows_mean_and_weight_of_one_group",
    ),
    "a group's records summed": Mutant(
        "_data/units.py",
        "return (2 * totals + sizes) // (2 * sizes)",
        "return totals",
        SCORING + "test_each_unit_has_the_rows_mean_and_weight_of_one_group",
    ),
    "groups numbered as they come": Mutant(
        "_data/units.py",
        "enumerate(sorted(set(groups), key=place))",
        "enumerate(dict.fromkeys(groups))",
        "core/test_private_training.py::"
        "test_the_size_of_a_group_does_not_change_the_numbers_of_others",
    ),
    # ------------------------------------------------------------------ not clipped
    "gains not clipped": Mutant(
        "scoring/_queries.py",
        "np.clip(np.where(np.isnan(gain), a, gain), a, b)",
        "np.where(np.isnan(gain), a, gain)",
        SCORING
        + "test_one_unit_moves_statistic_and_counts_by_at_most_the_sensitivity[False-absolute]",
    ),
    "errors not clipped": Mutant(
        "scoring/_queries.py",
        "error.clip(-self.c_e, self.c_e)",
        "error",
        "core/test_scores.py::"
        "test_no_record_moves_the_counts_further_than_the_sensitivity[sums of r2]",
    ),
    "rows not cut to the unit ball": Mutant(
        "learners/_scaling.py",
        "rows: Floats = scaled / np.maximum(norms, self.max_norm)[:, None]",
        "rows: Floats = scaled / self.max_norm",
        LEARNERS + "test_scaled_rows_lie_in_the_unit_ball_and_keep_their_direction",
    ),
    "rows that are too long kept": Mutant(
        "learners/_rows.py",
        "integers[squares > (steps + 1) ** 2] = 0",
        "pass",
        LEARNERS + "test_no_unit_has_rows_longer_than_promised",
    ),
    "products that are too long kept": Mutant(
        "learners/_rows.py",
        "steps[~fits] = 0.0",
        "pass",
        LEARNERS + "test_no_unit_moves_a_sum_of_products_further_than_promised",
    ),
    "bins of a column not cut to the unit ball": Mutant(
        "learners/_blocks.py",
        "return _shortened(values.reshape(len(columns), -1) / usual)",
        "return values.reshape(len(columns), -1) / usual",
        LEARNERS + "test_all_functions_of_a_record_together_have_a_norm_of_at_most_one",
    ),
    "a tree weighs as much as all": Mutant(
        "learners/_blocks.py",
        "share / math.sqrt(n_trees)",
        "share",
        LEARNERS + "test_all_functions_of_a_record_together_have_a_norm_of_at_most_one",
    ),
    "curator: rows not clipped": Mutant(
        "papers/kharkovskii2020/_curators.py",
        "Y = self._bounded(X)",
        "Y = X",
        "statistical/test_outsourced.py::test_rows_longer_than_max_norm_are_clipped",
    ),
    # ------------------------------------------------------------------ charges
    "charged after the draw": Mutant(
        "_privacy/mechanisms.py",
        """        if self.n_left == self.n:
            self.budget.charge(self.loss)
        self.n_left -= 1
        return _draw(partial(self.draw, sealed), sealed)
""",
        """        drawn = _draw(partial(self.draw, sealed), sealed)
        if self.n_left == self.n:
            self.budget.charge(self.loss)
        self.n_left -= 1
        return drawn
""",
        MECHANISMS + "test_budget_is_charged_before_the_draw",
    ),
    "a series without an end": Mutant(
        "_privacy/mechanisms.py",
        "self.n_left -= 1",
        "self.n_left = max(1, self.n_left - 1)",
        MECHANISMS + "test_a_series_is_charged_once_before_its_first_draw_and_ends[0.0]",
    ),
    "budget: sums of floats": Mutant(
        "_privacy/accounting.py",
        "Fraction(self.epsilon) - sum(Fraction(loss.epsilon) for loss in self._losses)",
        "Fraction(self.epsilon - sum(loss.epsilon for loss in self._losses))",
        "core/test_sensitive.py::test_budget_refuses_charge_that_exceeds_it_exactly",
    ),
    "budget: delta not compared": Mutant(
        "_privacy/accounting.py",
        "or Fraction(loss.delta) > delta:",
        "or False:",
        "core/test_sensitive.py::test_budget_refuses_charge_that_exceeds_delta",
    ),
    "budget: spent by a forked process, too": Mutant(
        "_privacy/accounting.py",
        "if os.getpid() != self._process:",
        "if False:",
        "core/test_objective.py::test_a_forked_process_has_no_budget",
    ),
    "fits that nothing counts": Mutant(
        "_privacy/accounting.py",
        "    _fits.append((epsilon, delta))\n",
        "    _fits.append((0.0, delta))\n",
        REPEATED + "test_each_further_fit_says_what_all_cost_together",
    ),
    "private candidates counted beside the search": Mutant(
        "_privacy/accounting.py",
        "token = _counting.set(False)",
        "token = _counting.set(True)",
        REPEATED + "test_candidates_that_train_privately_are_not_counted",
    ),
    "protected records marked as public": Mutant(
        "_data/fit_parameters.py",
        "        for part in _parts(value.value) if",
        "        for part in (value.value,) if",
        REPEATED + "test_protected_records_are_not_public[listed]",
    ),
    "a view of the protected records as public ones": Mutant(
        "_data/fit_parameters.py",
        "np.shares_memory(one, other) for",
        "False for",
        REPEATED + "test_a_view_of_the_protected_records_is_refused[1]",
    ),
    "ledger: not charged": Mutant(
        "_privacy/accounting.py",
        "if not self.reserved and self._before_first is not None:",
        "if self._losses and not self.reserved and self._before_first is not None:",
        LEDGER + "test_a_crash_between_charge_and_release_counts_as_spent",
    ),
    "ledger: delta not charged": Mutant(
        "ledger/_budget.py",
        "ledger.charge, epsilon, delta, what=what",
        "ledger.charge, epsilon, 0.0, what=what",
        "core/test_objective.py::test_all_is_charged_before_the_first_draw",
    ),
    "ledger: more granted than charged": Mutant(
        "ledger/_budget.py",
        'round_down(Fraction(parse_decimal("epsilon", epsilon)))',
        "float(epsilon)",
        LEDGER + "test_a_fit_spends_no_more_than_the_decimal_epsilon",
    ),
    "ledger: deltas not compared": Mutant(
        "ledger/_composition.py",
        "if after.epsilon > opening.epsilon or after.delta > opening.delta:",
        "if after.epsilon > opening.epsilon:",
        LEDGER + "test_charges_are_accepted_exactly_when_they_fit_budget_and_share",
    ),
    "ledger: only this charge compared": Mutant(
        "ledger/_composition.py",
        "if after.epsilon > opening.epsilon or after.delta",
        "if loss.epsilon > opening.epsilon or after.delta",
        LEDGER + "test_ten_charges_of_a_tenth_fit_a_budget_of_one_and_an_eleventh_does_not",
    ),
    "ledger: shares ignored": Mutant(
        "ledger/_composition.py",
        "after.shares[who] > opening.share[who]:",
        "False:",
        LEDGER + "test_a_share_is_refused_with_words_that_say_what_to_do",
    ),
    "ledger: not durable": Mutant(
        "ledger/_file.py",
        "            _sync(self.descriptor)\n",
        "            pass\n",
        "system/test_ledger_crashes.py::test_power_failure_after_any_system_call",
    ),
    "ledger: not locked": Mutant(
        "ledger/_file.py",
        "fcntl.LOCK_EX if self._adds else fcntl.LOCK_SH",
        "fcntl.LOCK_SH",
        LEDGER + "test_a_locked_ledger_is_refused_after_the_timeout",
    ),
    "ledger: losses per record added to those per patient": Mutant(
        "ledger/_composition.py",
        'if unit in (None, "group", counted) or',
        "if True or",
        LEDGER + "test_a_loss_per_record_is_refused_by_a_ledger_of_patients",
    ),
    # ------------------------------------------------------------------ several fits
    "repeated fits cost as much as one": Mutant(
        "_privacy/runs.py",
        "lambda e: e + self._more(e, each) <= epsilon",
        "lambda e: e <= epsilon",
        "core/test_repetition.py::test_pure_bound_holds_for_the_best_of_many_runs",
    ),
    "repeated fits cost as much as one, by profiles": Mutant(
        "_privacy/runs.py",
        "rest = epsilon - self._more(at, profile(at)).min()",
        "rest = epsilon",
        "core/test_repetition.py::test_profile_of_the_best_of_many_runs_is_within_the_bound",
    ),
    "n fits cost as much as one": Mutant(
        "_privacy/runs.py",
        "zcdp_within(epsilon, delta) / (n * k**2)",
        "zcdp_within(epsilon, delta) / k**2",
        "core/test_repetition.py::test_epsilon_and_delta_of_each_of_n_fits",
    ),
    "delta of GDP not rounded up": Mutant(
        "_privacy/gdp.py",
        "less = (1 + rounding) * _mills(t)",
        "less = _mills(t)",
        "system/test_guidance.py::test_gdp_conversions_are_never_below_the_exact_ones",
    ),
    "a record added or removed taken for a replacement": Mutant(
        "learners/_declaration.py",
        '"add-or-remove-one": 2',
        '"add-or-remove-one": 1',
        "core/test_private_training.py::test_a_replacement_is_two_steps_of_adding_or_removing",
    ),
    "a second budget for the second part": Mutant(
        "search/_table.py",
        "budget=Budget(budget.epsilon))",
        "budget=Budget(2 * budget.epsilon))",
        "system/test_one_table.py::test_both_parts_spend_the_whole_budget_which_is_charged_once",
    ),
    # ------------------------------------------------------------------ company, state, order
    "companions not compared": Mutant(
        "_counting/protected_values.py",
        "            if _as_expected(",
        "            if True or _as_expected(",
        PROTECTED + "test_record_that_changes_what_its_companions_get_is_predicted_apart",
    ),
    "one that fails takes all others": Mutant(
        "_counting/protected_values.py",
        "            failing = self._failing_units(predict)\n",
        "            return query.lowest_values(self.y, self.n)\n",
        "core/test_evaluation.py::test_only_records_that_cannot_be_predicted_count_as_wrong",
    ),
    "one copy of a part for all records": Mutant(
        "_counting/separately.py",
        "copier(self._pickled)",
        "(lambda: self._like)",
        SEPARATELY + "test_no_record_changes_what_another_gets",
    ),
    "not checked row by row": Mutant(
        "_counting/row_by_row.py",
        "if True in changes or changes[0] is None:",
        "if False:",
        "core/test_evaluation.py::test_batch_dependent_predictions_are_refused",
    ),
    "the list has a class whose rows share a search": Mutant(
        "_counting/listed.py",
        "sklearn.decomposition B KernelPCA",
        "sklearn.decomposition B KernelPCA NMF",
        LISTED + "test_classes_that_do_not_belong_on_the_list_are_found",
    ),
    "the list has neighbours on sparse tables": Mutant(
        "_counting/listed.py",
        'not issparse(getattr(e, "_fit_X", None)) and ',
        "",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "the list has classes that say they are from scikit-learn": Mutant(
        "_counting/listed.py",
        "return inside and getattr(home, cls.__name__, None) is cls",
        "return inside",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "the list has all ufuncs": Mutant(
        "_counting/listed.py",
        "return not own or (function.nin, function.nout) != (1, 1)",
        "return False",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "the list holds under versions that nobody read": Mutant(
        "_counting/listed.py",
        "return _series(version) in map(_series, read)",
        "return True",
        LISTED + "test_nothing_is_listed_under_a_version_that_was_not_read",
    ),
    "own code is called on all records at once": Mutant(
        "_counting/parts.py",
        "        if not why or self.before is None:\n",
        "        if True:\n",
        PROTECTED
        + "test_own_code_moves_one_prediction_where_training_records_never_reach_a_branch",
    ),
    "one unit's output may declare another type": Mutant(
        "_counting/separately.py",
        "if _declared(X) != self.declared:",
        "if False:",
        SEPARATELY
        + "test_a_record_of_which_a_users_function_makes_another_type_moves_its_own_count",
    ),
    "one unit's output may have cells of another type": Mutant(
        "_counting/separately.py",
        " or not all(map(set.issubset, cells, self.cells)):",
        ":",
        SEPARATELY + "test_cells_of_a_type_that_no_companion_has_are_refused",
    ),
    "outputs of a part are views of its arrays": Mutant(
        "_counting/separately.py",
        "else X[own]).copy())",
        "else X[own]))",
        SEPARATELY + "test_each_record_gets_what_it_gets_alone",
    ),
    "steps before a part are not in its key": Mutant(
        "_counting/parts.py",
        "+ self.before())",
        "+ packed(o))",
        SEPARATELY + "test_one_object_in_two_steps_does_not_share_what_other_steps_change",
    ),
    "models change the global generators": Mutant(
        "_counting/suppress_output.py",
        "    stack.callback(np.random.set_state, np.random.get_state())\n",
        "",
        ROWS + "test_validation_predictions_do_not_change_global_random_states",
    ),
    "models change the generator of module random": Mutant(
        "_counting/suppress_output.py",
        "    stack.callback(random.setstate, random.getstate())\n",
        "",
        ROWS + "test_validation_predictions_do_not_change_global_random_states",
    ),
    "candidates scored by what is no probability": Mutant(
        "_counting/model.py",
        "    query.check(response)\n",
        "",
        "core/test_evaluation.py::"
        "test_a_candidate_whose_response_is_no_probabilities_fails[neg_log_loss]",
    ),
    "draws for one record change those for the next": Mutant(
        "_counting/suppress_output.py",
        "if not follows or memory.raw != before:",
        "if set_state is random.setstate and memory.raw != before:",
        SEPARATELY + "test_what_one_record_draws_changes_no_draw_for_another",
    ),
    "draws by `random` for one record change those for the next": Mutant(
        "_counting/suppress_output.py",
        "if not follows or memory.raw != before:",
        "if set_state is not random.setstate and memory.raw != before:",
        SEPARATELY + "test_what_one_record_draws_changes_no_draw_for_another",
    ),
    "copies of a part share their arrays": Mutant(
        "_data/pickles.py",
        'array.copy(order="K")',
        "array",
        SEPARATELY + "test_copies_share_nothing_that_can_be_written_into",
    ),
    "tables: a missing cell decides what type a column has": Mutant(
        "_data/tables.py",
        "return column.cat.rename_categories(categories.astype(float if exact else object))",
        "return column",
        PROTECTED + "test_a_missing_cell_does_not_decide_the_type_of_a_column[integer categories]",
    ),
    "tables: a row decides whether the entries of all are sorted": Mutant(
        "_data/tables.py",
        "        return _canonical(X)\n",
        "        return X\n",
        PROTECTED + "test_no_row_of_a_sparse_table_decides_whether_the_entries_of_all_are_sorted",
    ),
    "a missing category decides what type a part's outputs have": Mutant(
        "_counting/separately.py",
        "rows = as_table(stack([part.reset_index(drop=True) for part in parts]).copy())",
        "rows = stack([part.reset_index(drop=True) for part in parts]).copy()",
        SEPARATELY + "test_a_missing_category_of_a_users_function_moves_its_own_count",
    ),
    "the list has objects that are put in frames": Mutant(
        "_counting/listed.py",
        "    if not isinstance(estimator, _SetOutputMixin):\n",
        "    if True:\n",
        LISTED + "test_says_why_an_object_is_not_listed",
    ),
    "tables: models are fitted on other types than they meet": Mutant(
        "_data/canonical.py",
        "return X.astype(common), X_val.astype(common)",
        "return X, X_val.astype(common)",
        "core/test_split.py::test_tables_of_any_two_types_of_numbers_get_one_form[frames]",
    ),
    "fit parameters not checked": Mutant(
        "_data/fit_parameters.py",
        "if not (marked or per_row(value, n)):",
        "if False:",
        "core/test_fit_parameters.py::test_unmarked_records_are_refused_before_anything_is_fitted_or_charged",
    ),
    # ------------------------------------------------------------------ raw scores
    "a sensitive value printed": Mutant(
        "_privacy/sensitive.py",
        'return f"<{type(self).__name__}: value withheld>"',
        'return f"<{type(self).__name__}: {self.__value}>"',
        "core/test_sensitive.py::test_sensitive_is_not_printed_or_logged",
    ),
    "a sensitive value pickled": Mutant(
        "_privacy/sensitive.py",
        "__copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse",
        "pass",
        "core/test_sensitive.py::test_ordinary_operations_do_not_read_sensitive",
    ),
    "raw scores in cv_results_": Mutant(
        "strategies/_worst_case.py",
        "best, report, all_scores = history.fitted[chosen], None, None",
        "best, report, all_scores = history.fitted[chosen], None, None\n"
        "        for i, raw in zip(history.fitted, statistics._open()[:, 0]):\n"
        "            object.__setattr__(candidates[i], 'public_score', float(raw))",
        LEAKS,
    ),
    "a warning with raw counts": Mutant(
        "_counting/evaluator.py",
        "            return reduce(Sensitive.followed_by, rows)",
        "            warn(str([row._open() for row in rows]))\n"
        "            return reduce(Sensitive.followed_by, rows)",
        LEAKS,
    ),
    "warnings of predictions shown": Mutant(
        "_counting/suppress_output.py",
        '    _replace(warnings, "_showwarnmsg", lambda message: None, stack)\n',
        "",
        ROWS + "test_validation_warnings_are_suppressed_in_threads",
    ),
    "errors of predictions raised": Mutant(
        "_counting/suppress_output.py",
        "return True  # also of SystemExit",
        "return False  # also of SystemExit",
        "core/test_evaluation.py::test_only_records_that_cannot_be_predicted_count_as_wrong",
    ),
    # ------------------------------------------------------------------ noise and sampling
    "population: no sampling error": Mutant(
        "scoring/_intervals.py",
        "units) if sampling else counts",
        "units) if False else counts",
        POPULATION
        + "linear_functions_of_draws_have_the_variance_of_noise_and_sampling[1.0-records]",
    ),
    "population: half of the noise": Mutant(
        "scoring/_intervals.py",
        "centre - noise, units",
        "centre - noise / 2, units",
        POPULATION
        + "linear_functions_of_draws_have_the_variance_of_noise_and_sampling[1.0-records]",
    ),
    "population: a group counts as many records": Mutant(
        "scoring/_intervals.py",
        "shape = counts / unit_weight(units) +",
        "shape = counts +",
        POPULATION
        + "linear_functions_of_draws_have_the_variance_of_noise_and_sampling[1.0-groups]",
    ),
    "population: what bins hide is added to the sampling error": Mutant(
        "scoring/_of_counts.py",
        "math.hypot if sampling else operator.add",
        "operator.add",
        POPULATION + "what_bins_hide_is_independent_of_sampling",
    ),
    "average precision: simulated values are cut off at 1": Mutant(
        "scoring/_of_counts.py",
        'if self.name == "average_precision":\n            low, high',
        "if False:\n            low, high",
        POPULATION + "average_precisions_near_one_are_covered",
    ),
    "evaluations: warnings speak of sampling": Mutant(
        "evaluation/_base.py",
        '_, low, high = self.score(name, interval="records")',
        "_, low, high = self.score(name)",
        "core/test_private_evaluation.py::"
        "test_intervals_for_the_population_contain_those_for_the_records",
    ),
    # ------------------------------------------------------------------ what bins hide
    "areas: no allowance for the order within bins": Mutant(
        "scoring/_metrics.py",
        "return shift, abs(shift) + 3",
        "return shift, 0 * abs(shift) + 0",
        AREAS + "[1.0-forest-average_precision]",
    ),
    "areas: a forest's scores have bins of their own": Mutant(
        "scoring/_response.py",
        "<= len(scores) / 1000",
        "<= len(scores) / 2",
        AREAS + "[1000.0-forest-roc_auc]",
    ),
    "Brier score: probabilities lie at the means of their bins": Mutant(
        "evaluation/_curves.py",
        "if end is not None:",
        "if False:",
        "statistical/test_evaluation_intervals.py::"
        "test_what_bins_hide_of_the_brier_score_lies_in_its_interval",
    ),
    "public rows are asked after protected predictions": Mutant(
        "strategies/_worst_case.py",
        "        if oracle.releases_all:\n",
        "        oracle.fitted(candidates[best].params).predict(oracle.problem.training.X)\n"
        "        if oracle.releases_all:\n",
        "core/test_evaluation.py::test_after_protected_predictions_nothing_runs_but_these[several]",
    ),
    # ------------------------------------------------------------------ warnings
    "wide intervals: expected with a quarter of the noise": Mutant(
        "strategies/_release.py",
        "scale = price.scale(scorer.counts.sensitivity(units))",
        "scale = price.scale(scorer.counts.sensitivity(units)) / 4",
        LOW_UTILITY + "test_records_and_epsilon_that_are_named_halve_the_width[f1]",
    ),
    "wide intervals: warned of after predictions": Mutant(
        "strategies/_guidance.py",
        "        self.warned = warn_of_wide_intervals(\n",
        "        self._oracle.fit_candidates(params)\n"
        "        self._oracle.compare(params, self._oracle.scorer.query)\n"
        "        self.warned = warn_of_wide_intervals(\n",
        LOW_UTILITY + "test_no_protected_record_has_been_predicted_when_the_warning_is_given",
    ),
    "contradiction: no union bound": Mutant(
        "strategies/_utility.py",
        "1 - _FALSE_ALARMS / 2 / n_scored",
        "1 - _FALSE_ALARMS / 2",
        LOW_UTILITY + "test_public_scores_of_the_same_data_are_rarely_contradicted",
    ),
}
