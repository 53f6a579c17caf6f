"""The figures that pages print: phrases, and where their numbers come from. See `figures.py`."""

# fmt: off
import re
from functools import cache, partial
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).parent / "results"
# Numbers that say how something was measured: these, and the phrases without places below.
CONSTANTS = (
    r"(?:ε|m|T|δ) = [\d.,]*\d(?: and [\d.]*\d)?", "10⁻⁶", "ε/2", "95 %", r"\d+ seeds",
    "November 2026", r"(?:CPython|scikit-learn|numpy|OpenDP|Python) [\d.]*\d", "BSD 3", "δ > 0",
    "Algorithms? 1(?: and 2)?", r"et al\. \d{4}",
)


# ------------------------------------------------------------------ reading results
@cache
def read(path):
    return pd.read_csv(path, dtype=object, keep_default_na=False)


def table(name, **values):
    """Return a file of results, as text, or its rows with these values."""
    rows = read(RESULTS / f"{name}.csv")
    for column, value in values.items():
        rows = rows[rows[column] == value]
    return rows


def number(cell):
    """Return the first number of a cell, as of "-.002 ± .001" and "1,000"; nan if it has none."""
    match = re.search(r"[-−+]?[\d,]*\.?\d+", cell)
    return float(match[0].replace("−", "-").replace(",", "")) if match else float("nan")


def after(sign, cells):
    """Return the first number of each cell after the first of these signs."""
    return cells.map(lambda cell: number(cell.partition(sign)[2]))


def by(name, index, **values):
    """Return a file of results as numbers, with this column or these as index."""
    return table(name, **values).set_index(index).map(number)


def row(label, form, values):
    """Return a row of a Markdown table as a figure."""
    return f"| {label} |" + f" {form} |" * (len(values) // form.count("{")), *values


def short(value):
    return "–" if pd.isna(value) else f"{value:.3f}".lstrip("0")


EPSILONS = ("1", "5", "1000")  # the last one: no noise


# ------------------------------------------------------------------ time, and a hold-out set
SIX = ("LogisticRegression", "SVC", "AdaBoost", "RandomForest", "stacking", "HistGradientBoosting")


def ratios(*cases, score=""):
    """Return the processor times over RandomizedSearchCV of cases that begin so, both starts."""
    rows = by("overhead", "case")[[f"{score}CPU ratio", f"{score}second start: CPU ratio"]]
    return rows[rows.index.str.startswith(cases)].dropna().stack()


def of_time():
    six, own, f1 = ratios(*SIX), ratios("own function before"), ratios(*SIX, score="F1: ")
    frames, classifier = ratios("own function of frames"), ratios("own classifier").max()
    yield ("six estimators take {:.2f} to {:.2f} times as long, with a median of {:.2f}; a "
           "function of your own in a pipeline {:.2f} to {:.2f}, one of frames {:.1f} to {:.1f} "
           "and a classifier of your own up to {:.1f},", six.min(), six.max(), six.median(),
           own.min(), own.max(), frames.min(), frames.max(), classifier)
    yield ("by F1 the six take {:.2f} to {:.2f} times as long (median {:.2f})", f1.min(),
           f1.max(), f1.median())
    yield "six estimators: median {:.2f} times", six.median()
    yield "your own classifier: {:.1f} times", classifier
    guided = by("overhead_guided", "case", n_jobs="1")["wall ratio, median (range)"]
    imports = by("importing", "start")["ratio"]
    yield ("`import sklearn_dpbo`: {:.2f} to {:.2f} times `import sklearn, scipy.stats` (goal 1.2)",
           imports.min(), imports.max())
    memory = by("overhead", "case")
    memory = memory["private, MiB"] / memory["RandomizedSearchCV, MiB"]
    yield ("Guidance prefers larger models: {:.2f} to {:.2f} times. Memory: {:.2f} to {:.2f} times",
           guided.min(), guided.max(), memory.min(), memory.max())


WAYS = ["uniform", "defaults", '"none"', '"public"', "random", "Optuna TPE"]


def hold_out(name):
    """Return figures of the problems held back but for one, whose F1 is on another scale."""
    return by(f"hold_out_{name}", "problem").drop("rare forest cover, SVC")


def shifted():
    regret = table("shifted").assign(regret=lambda rows: rows["regret"].map(number))
    return regret.pivot(index="problem", columns="method", values="regret")


def of_hold_out():
    regret, test = hold_out("regret").mean(), hold_out("test").mean()
    minus = hold_out("differences")
    yield row("validation regret", "{:.4f}", regret[WAYS])
    yield row("test score", "{:.4f}", test[WAYS])
    rare = by("hold_out_test", "problem").loc["rare forest cover, SVC", WAYS[1:]]
    yield ("An eighth, F1 of a rare class: defaults {:.3f}, no guidance {:.3f}, the search {:.3f}, "
           "TPE {:.3f}.", *rare.drop("random"))
    yield ("ε = 1: {:.4f} of test score behind Optuna's TPE", test["Optuna TPE"] - test['"public"'])
    peer, defaults = minus["best peer: regret"], minus["defaults: test"]
    low = hold_out("differences_at_0.3")["defaults: test"]
    yield ("The goal, a regret within 0.005 of the best peer, is met for {} of {} problems; the "
           "largest difference, for the AUC of a rare class, is {:.4f}. The search beats the "
           "defaults on {} of {} test sets, and loses at most {:.4f}; at ε = 0.3 on {}, and "
           "{:.4f}.",
           sum(peer <= 0.005), len(peer), peer.max(), sum(defaults > 0), len(defaults),
           -defaults.min(), sum(low > 0), -low.min())
    yield "ε = 0.3: worse than the defaults on {} of {} problems", sum(low < 0), len(low)
    regret, test = minus["none: regret"], minus["none: test"]
    yield ("validation regret is worse on {} of {} (by up to {:.4f}) and test score better on {} "
           "(mean difference {:+.4f}); at ε = 0.3 mean regret is {:.4f} smaller.",
           sum(regret > 0), len(regret), regret.max(), sum(test > 0), test.mean(),
           -hold_out("differences_at_0.3")["none: regret"].mean())
    tuned = by("hold_out_tuned_on", "problem")
    mean, tuned = tuned.loc["mean"], tuned.drop("mean")
    yield ("mean regret is {:.4f} instead of {:.4f}, but worse on {}, and test scores change by "
           "{:+.4f}.", mean["1"], mean['"none", 1'], sum(tuned["1"] > tuned['"none", 1']),
           mean["test: minus none"])
    regret = shifted()
    ways = regret[["defaults", "none", "public", "Optuna TPE"]].mean()
    yield ("Mean validation regret: defaults {:.4f}, no guidance {:.4f}, the search {:.4f}, "
           "Optuna's TPE {:.4f}. The search beats the defaults on {}, no guidance on {}.", *ways,
           sum(regret["public"] < regret["defaults"]), sum(regret["public"] < regret["none"]))
    worst = regret.loc["census income by balanced_accuracy, positives three times"]
    yield ("m = 1,332 is too small to count classes first: {:.4f}, defaults {:.4f}.",
           worst["public"], worst["defaults"])


def of_metrics():
    """Cells are "private / by accuracy; error, width; met of all", each in the metric itself."""
    rows = table("metrics_over_m_and_epsilon").set_index(["m", "metric"])
    many, few = rows.loc["4,000"], rows.loc["1,000"]
    for m, cells in (("1,000", few["epsilon = 1"]), ("4,000", many["epsilon = 1"])):
        counts = [int(n) for cell in cells for n in re.search(r"(\d) of (\d)", cell).groups()]
        yield row(f"met, m = {m}", "{} of {}", counts)
    low = few["epsilon = 0.3"].str.rpartition("; ")[2]
    met, tests = low.map(number), after(" of ", low)
    yield "missed on {:.0f} of {:.0f}", (tests - met).sum(), tests.sum()
    target = table("metrics_m_4000")["within target"]
    yield "target met on {} of {} test sets", sum(target.str.endswith("/ yes")), len(target)
    width = after(", ", many["epsilon = 1"])
    yield "With m = 4,000, intervals are {:.3f} to {:.3f} wide.", width.min(), width.max()
    lost = after("/", rows["epsilon = 1"]).unstack()[["F1", "MCC", "balanced accuracy"]].stack()
    yield "Choosing the first three *by accuracy* loses {:.2f} to {:.2f}.", lost.min(), lost.max()


def of_defaults():
    """What a search gains over the defaults, by cell: a problem, metric, m and epsilon."""
    rows = table("beside_defaults")
    val, test = (rows[f"{place} gain"].map(number) for place in ("val", "test"))
    below = rows[val < -0.005]
    shares = sorted({number(name.rpartition(", ")[2]) for name in below["problem"]})
    yield ("in {} of {} cells the mean validation score is more than 0.005 below that of the "
           "defaults, by up to {:.4f}: {} by AUC and {} by AP, of classes of {:.0f} and {:.0f} %. "
           "{:.0f} % of these searches warned",
           len(below), len(rows), -val.min(), *(sum(below["metric"] == m) for m in ("AUC", "AP")),
           *shares, 100 * below["warned"].map(number).mean())
    yield ("Mean test scores are so in {} cells, by up to {:.4f}, also for accuracy and F1 of "
           "digits (350 training records).", sum(test < -0.005), -test.min())
    yield ("On average a search gains {:.3f} of F1, {:.4f} of AUC, {:.4f} of AP and {:.4f} of "
           "accuracy.", *(test[rows["metric"] == name].mean()
                          for name in ("F1", "AUC", "AP", "accuracy")))


# ------------------------------------------------------------------ one table
PRIVATE = ["straight", "curved", "scored", "DP-EBM", "diffprivlib, logistic", "diffprivlib, forest"]
ARMS = ["most frequent", "logistic regression", "boosting", "straight", "curved", *PRIVATE[3:5]]
RECORDS = {
    "recidivism": 6172, "bar_exam": 21791, "students": 43303, "employees": 15744, "census": 61395,
    "credit": 30000, "nursery": 12960, "churn": 5000, "stops": 12347, "blood": 7874,
    "diamonds": 53940, "flights": 32735, "plans": 20186,
}


def scores(arm, epsilon=1.0, figure="accuracy"):
    """Return the scores of an arm by table and split."""
    rows = table("ten_tables", arm=arm, epsilon=str(epsilon)).set_index(["table", "seed"])
    return rows[figure].astype(float).dropna()


def means(arm, epsilon=1.0):
    return scores(arm, epsilon).groupby("table").mean()


def ahead(arm, other, *what):
    """Return by how much an arm is ahead of another on the splits that both have, by table."""
    return (scores(arm, *what) - scores(other, *what)).dropna().groupby("table").mean()


def behind(arm, epsilon):
    """Return by how much an arm is behind the best other private one, by table."""
    others = [ahead(other, arm, epsilon) for other in PRIVATE if other != arm]
    return pd.concat(others, axis=1).max(axis=1).clip(lower=0)


def of_two_classes(arm, epsilon=1.0):
    """Return the mean of an arm over the tables of two classes, which are those of DP-EBM."""
    return means(arm, epsilon)[means("DP-EBM").index].mean()


def behind_peers(epsilon, form=""):
    """Return by how much curved is behind the best of DP-SGD and DP-XGB, by table."""
    found = []
    for peer in ("DP-SGD, linear", "DP-SGD, network", "DP-XGB"):
        rows = table("ten_tables_peers", arm=peer + form, epsilon=str(epsilon))
        own = rows.set_index(["table", "seed"])["accuracy"].astype(float)
        found.append((own - scores("curved", epsilon)).dropna().groupby("table").mean())
    return pd.concat(found, axis=1).max(axis=1)


def of_one_table():
    own, others = (scores(arm).groupby("table").count() for arm in ("curved", "DP-EBM"))
    yield ("means of {} splits (peers and models without privacy {} to {})", own.min(),
           others.min(), others.max())
    columns = [*map(means, ARMS), means("curved", 3.0)]
    yield "**{} tables** (`ten_tables.py`)", len(columns[0])
    for name in columns[0].index:
        label = f"{name.replace('_', ' ')}, {RECORDS[name]:,}"
        yield row(label, "{}", [short(column.get(name)) for column in columns])
    curved, straight = behind("curved", 1.0), behind("straight", 1.0)
    yield ("Curved is at most {:.3f} behind DP-EBM, diffprivlib and our other arms on each table "
           "at ε = 1 (mean {:.4f}), {:.3f} at ε = 3, on splits that both have; straight {:.3f}.",
           curved.max(), curved.mean(), behind("curved", 3.0).max(), straight.max())
    first, later = behind_peers(1.0), behind_peers(3.0)
    sold, sold_later = (behind_peers(e, ", as sold") for e in (1.0, 3.0))
    yield ("**It is at most {:.3f} behind DP-SGD and DP-XGB with the same promise** at ε = 1, and "
           f"{{:.3f}} at ε = 3 ({later.idxmax()}), on 6 splits; as they are sold {{:.3f}} and "
           "{:.3f}.", max(0, first.max()), later.max(), sold.max(), sold_later.max())
    yield ("on 13 tables one fit with defaults is at most {:.3f} behind DP-SGD and DP-XGB with the "
           "same promise", max(0, first.max()))
    ebm, other = (ahead("curved", arm) for arm in ("DP-EBM", "diffprivlib, logistic"))
    later, latest = (ahead("curved", arm, 3.0) for arm in ("DP-EBM", "diffprivlib, logistic"))
    yield ("ahead of DP-EBM on {} of {} tables (by {:.3f} to {:.3f}), and on {} at ε = 3; of "
           "diffprivlib's logistic regression on {} of {}, and on {} at ε = 3.",
           sum(ebm > 0), len(ebm), ebm.min(), ebm.max(), sum(later > 0), sum(other > 0),
           len(other), sum(latest > 0))
    yield ("on `churn`, boosting reaches {:.3f}, and the best private model {:.3f} at ε = 3",
           means("boosting")["churn"], max(means(arm, 3.0)["churn"] for arm in PRIVATE))
    auc = ahead("straight", "curved", 1.0, "auc")
    yield ("Where straight is better, it is so by up to {:.4f} of accuracy and {:.4f} of AUC",
           ahead("straight", "curved").max(), auc.max())
    yield ("takes a part of the records, and up to {:.3f} of accuracy.",
           ahead("curved", "scored").max())
    rows = by("one_table", "records")
    gap = (rows["not private"] - rows["curved"]).dropna()
    few = after(", ", gap.index) <= 5000
    yield ("with up to 5,000 records, curved is {:.3f} to {:.3f} behind logistic regression "
           "without privacy (worst on spam), with more at most {:.3f}.", gap[few].min(),
           gap[few].max(), gap[~few].max())
    lost = ahead("scored", "searched")
    yield ("on these {} tables, a choice from `PrivateClassifier.search_space()` was {:.3f} of "
           "accuracy behind one fit with a score ({} splits), and worse on {}.", len(lost),
           lost.mean(), scores("searched").groupby("table").count().min(), sum(lost > 0))


OF_REGRESSION = {
    "diamonds": 53940, "flights": 327346, "wages": 28155, "visits": 20186, "savings": 9275,
    "houses": 2930, "stays": 1495, "concrete": 1030, "births": 1000,
}


def r2(arm, epsilon=1.0, figure="r2"):
    rows = table("regression_tables", arm=arm, epsilon=str(epsilon))
    return rows[figure].astype(float).groupby(rows["table"]).mean()


def two_digits(value):
    return "< -1" if value < -1 else f"{value:.2f}".replace("0.", ".")


def of_regression():
    privately = ["straight", "curved", "scored", "DP-EBM"]
    columns = [*map(r2, ["ridge", "boosting", *privately]), r2("curved", 3.0), r2("DP-EBM", 3.0)]
    splits = table("regression_tables").groupby(["arm", "table"])["seed"].nunique()
    yield ("means of {} splits (models without privacy, DP-EBM and diffprivlib {} to {})",
           splits["curved"].min(), splits.drop(["straight", "curved", "scored"]).min(),
           splits.max())
    yield "**{} regressions** (`regression_tables.py`)", len(columns[1])
    for name, records in OF_REGRESSION.items():
        cells = [two_digits(column[name]) for column in columns]
        yield (f"| {name}, {records:,} | {{}}, {{}} | {{}} | {{}} | {{}} | {{}} | {{}}, {{}} |",
               *cells)
    error = [r2(arm, 1.0, "mean_absolute_error") for arm in [*privately, "diffprivlib"]]
    best = pd.concat(error, axis=1, keys=[*privately, "diffprivlib"]).idxmin(axis=1)
    yield ("has the smallest mean absolute error of all private models on {} of {} tables",
           sum(best.isin(["curved", "scored"])), len(best))
    ahead_of_ebm = [r2("curved", e) - r2("DP-EBM", e) for e in (1.0, 3.0)]
    yield ("a larger R² than DP-EBM on {} at ε = 1 and {} at ε = 3",
           *(sum(difference > 0) for difference in ahead_of_ebm))
    yield "diffprivlib's linear regression is below −1 on {}", sum(r2("diffprivlib") < -1)


# ------------------------------------------------------------------ tables that nobody tuned on
PEERS = ["DP-SGD, linear", "DP-SGD, network", "DP-XGB", "DP-EBM"]
RARE = "shuttle", "caravan"  # areas, not accuracies


def unseen(name, epsilon):
    """Return means by table and arm, of the figure that each table is judged by."""
    rows = table(name, epsilon=str(epsilon))
    of = "r2" if "r2" in rows else "accuracy"
    figure = rows[of].where(~rows["table"].isin(RARE), rows.get("auc", rows[of])).map(float)
    return figure.groupby([rows["table"], rows["arm"]]).mean().unstack()


def of_unseen(name, form):
    first, later = unseen(name, 1.0), unseen(name, 3.0)
    same, sold = PEERS, [f"{peer}, as sold" for peer in PEERS]
    for each, own in first.iterrows():
        cells = [own["boosting"], own["straight"], own["curved"], *own[same], own[sold].max(),
                 later.loc[each, "curved"], later.loc[each, same].max()]
        yield row(each, "{}", [form(cell) for cell in cells])
    gaps = [means["curved"] - means[same].max(axis=1) for means in (first, later)]
    yield ("ahead of the best peer with the same promise by {:.3f} on average over the "
           f"{{}} {'targets' if 'regr' in name else 'tables'}, and by {{:.3f}} at ε = 3",
           gaps[0].mean(), len(first), gaps[1].mean())
    worst = [gap.nsmallest(2) for gap in gaps]
    yield (f"behind by {{:.3f}} on {worst[0].index[0]}, then {{:.3f}} on {worst[0].index[1]}; at "
           f"ε = 3 by {{:.3f}} on {worst[1].index[0]}, then {{:.3f}} on {worst[1].index[1]}.",
           *(-x for pair in worst for x in pair))
    sold_gaps = [means["curved"] - means[sold].max(axis=1) for means in (first, later)]
    yield ("Beside peers as they are sold it is behind by more than .02 on {} and {} of these "
           f"{'targets' if 'regr' in name else 'tables'}.",
           *(int((gap < -.02).sum()) for gap in sold_gaps))


def since(epsilon, figure):
    """Return by table a figure of the regressor, and what it was before tails were kept."""
    found = []
    for name in ("unseen_regressions", "unseen_numbers_before"):
        rows = table(name, arm="curved", epsilon=str(epsilon))
        found.append(rows[figure].astype(float).groupby(rows["table"]).mean())
    return found


def of_tails():
    changes = [(after - before).mean() for after, before in (since(e, "r2") for e in (1.0, 3.0))]
    ratios = pd.concat([after / before for after, before in
                        (since(e, "mean_absolute_error") for e in (1.0, 3.0))])
    yield ("They change R² by {:.3f} and {:.3f} on average on these targets, and the mean absolute "
           "error by {:.0f} to {:.0f} %.", *changes, 100 * (ratios.min() - 1),
           100 * (ratios.max() - 1))


# ------------------------------------------------------------------ the other sections
BOTORCH = "BoTorch (SingleTaskGP, LogExpectedImprovement)"


def of_optimisers():
    texts = table("optimiser_values").set_index("optimiser")
    ours, theirs, botorch = (
        texts.loc[name].map(number) for name in
        ("this library, exploration, batches of 8", "Optuna GP", BOTORCH)
    )
    yield ("on Ackley-5 (optimum 0) {:.2f}, Optuna's GP {:.2f}, BoTorch {:.2f}.", ours.iloc[3],
           theirs.iloc[3], botorch.iloc[3])
    yield ("Branin ({:.3f} against {:.3f}), Hartmann-6 ({:.3f} against {:.3f}) and Levy-4 "
           "({:.2f} against {:.2f})", *(x for pair in zip(theirs[:3], ours[:3], strict=True)
                                        for x in pair))
    seconds = texts.apply(lambda column: after(";", column))
    times = seconds.loc[BOTORCH] / seconds.filter(like="this library", axis=0)
    yield "takes {:.0f} to {:.0f} times the CPU time", times.min().min(), times.max().max()


def of_smaller_sections():
    charges = by("ledger_charges", "place")
    yield ("A charge takes {:.2f} ms of processor time after 10 charges and {:.2f} after 100,000; "
           "an equally durable insert into SQLite {:.2f} and {:.2f}; PostgreSQL {:.1f}.",
           *charges.loc["file, ms", ["after 10", "100,000"]],
           *charges.loc["insert into SQLite, ms", ["after 10", "100,000"]],
           charges.loc["PostgreSQL, ms", "after 10"])


def of_papers():
    noisy = table("strategies").set_index("strategy").filter(regex="^GPNoisy", axis=0)
    error = noisy.apply(lambda column: after("/", column))
    yield "of Algorithm 1 is off by {:.2f} to {:.2f}.", error.min().min(), error.max().max()
    rows = table("outsourced_synthetic").set_index("ε")
    sound, published = rows["sound"].map(number), rows["published: regret (paper's) by r"]
    yield ("{:.3f} at ε = 1, {:.3f} at e^1.5; of random rows {:.3f};", sound["e^0.0"],
           sound["e^1.5"], sound["random rows"])
    yield ("(../papers/kharkovskii2020.md), {:.3f} and {:.3f}.", *after("r = 10: ", published[:1]),
           *after("r = 20*: ", published[["e^1.5"]]))
    rows = by("configuration_regret", "family")
    share = 100 * (rows["95 % quantile, private"] / rows["bound"].where(rows["bound"] < 1))
    yield "regret are {:.0f} to {:.0f} % of the bound", share.min(), share.max()
    better = rows[rows["regret: private"] < rows["default"]]
    least = (better["instances"] * better["ε"]).groupby("family").min()
    yield ("from ε|S| of {:,.0f} (knapsack) or {:,.0f} (independent sets), and never for",
           least["Knapsack, 50 items"], least["IndependentSet, 50 nodes"])


# ------------------------------------------------------------------ where losses are clipped
LOSSES = {"mean_squared_error": "MSE", "mean_absolute_error": "MAE", "r2": "R²",
          "root_mean_squared_error": "RMSE", "log_loss": "log loss"}
REACHES = (100, 1_000, 10_000, 1_000_000)
N_DRAWS = 40
OF_COVERAGE = ["coverage: earlier", "coverage"]


def clipped_losses():
    """Return the figures of `bounds.py`, by target, score and epsilon m."""
    rows = table("bounds").set_index(["target", "score"]).astype(float).reset_index()
    return rows.assign(reach=(rows["m"] * rows["epsilon"]).astype(int))


def digits(value):
    """Return a number with two digits that matter, and no more than four decimals."""
    places = 0 if value >= 9.95 else 1 if value >= 0.995 else 2 if value >= 0.0995 else 3
    text = f"{value:.{places if value >= 0.00995 else 4}f}"
    return text.removeprefix("0") if text.startswith("0.") else text


def bounds():
    rows = clipped_losses()
    for (target, score), of in rows.groupby(["target", "score"], sort=False):
        unit, cells = (1 if score == "r2" else 100), of.set_index("reach").loc[list(REACHES)]
        size = cells["best"].abs() / unit if unit > 1 else 1.0
        errors = [(cells[f"error{rule}"] / size).map(digits) for rule in (": earlier", "")]
        covered = [f"{x:.2f}".lstrip("0") or "0" for x in cells.loc[10_000, OF_COVERAGE]]
        numbers = [each for pair in zip(*errors, strict=True) for each in pair]
        yield (f"| {target}, {LOSSES[score]} |" + 4 * " {} → {} |" + " {} → {} |",
               *numbers, *covered)
    sure = 2 * rows["less: standard error"]
    better, worse = rows[rows["less"] > sure], rows[rows["less"] < -sure]
    yield ("In {} of {} cells the error is smaller by more than two standard errors with this "
           "bound, in {} larger.", len(better), len(rows), len(worse))
    means = rows.groupby("reach")[OF_COVERAGE].mean()
    yield ("Over all rows, intervals contain scikit-learn's number in {:.2f} → {:.2f} of the "
           "searches at εm = 10,000 and in {:.2f} → {:.2f} at 10⁶",
           *means.loc[10_000], *means.loc[1_000_000])
    missed = rows[rows["coverage"] < 0.8]
    yield ("in {} cells they do so in less than .8, and in {} of these most searches have the "
           "warning", len(missed), sum(missed["warned"] > 0.5))
    normal = rows[rows["target"] == "normal"]
    yield ("With normal errors {:.0f} of {} searches have it.",
           normal["warned"].sum() * N_DRAWS, len(normal) * N_DRAWS)
    size = rows["best"].abs().where(rows["score"] != "r2", 1.0)
    gained = (rows["regret: earlier"] - rows["regret"]) / size
    yield ("The regret of the choice is smaller by more than 1 % of the score (.01 of R²) in {} "
           "cells and larger in {}.", sum(gained > 0.01), sum(gained < -0.01))


# ------------------------------------------------------------------ alarms
def alarms():
    rows = table("alarms").astype({"alarm": int})
    found = rows.groupby(["labels", "score"], sort=False)["alarm"].agg(["sum", "count"])
    of = found.groupby("labels").sum()
    yield ("{} of {} searches whose sets were alike said so, at ε = 1 and m = 2,000",
           *of.loc["healthy"])
    yield ("Of searches with shuffled labels {} of {} did, with swapped classes {} of {}, with "
           "other codes {} of {};", *(n for kind in ("shuffled", "swapped", "codes")
                                     for n in of.loc[kind]))
    yield ("Other shares of the classes are noticed in {} of {}", *of.loc["shares"])
    yield ("of the regressions among the first {} of {}",
           *found.loc["shuffled"].loc[["r2", "neg_mean_absolute_error"]].sum())


# ------------------------------------------------------------------ pages
def benchmarks():
    for part in (of_time, of_hold_out, of_metrics, of_defaults, alarms, of_one_table,
                 partial(of_unseen, "unseen_tables", short),
                 partial(of_unseen, "unseen_regressions", two_digits), of_tails,
                 of_regression, of_optimisers, of_smaller_sections, of_papers):
        yield from part()
    for constant in (
        "within 0.005 of the exact", "m of 1,000 and 4,000, ε of 0.3 and 1, 10 repetitions",
        "5 and 43 positive records held out of the training set", "(0.01 for AP and AUC)",
        "T = 64, 20 repetitions",
        "each of up to 32", "1,500 training records", "1,000 training records",
        "people of 45 and over", "at most 20,000 records", "beyond 50 columns",
        "more than 50 columns",
    ):
        yield (constant,)


def comparison():
    regret, test = hold_out("regret").mean(), hold_out("test").mean()
    low = hold_out("differences_at_0.3")["defaults: test"]
    yield ("7 held-back problems | {:.4f} | not private: Optuna TPE {:.4f}, random search {:.4f}; "
           "no search (defaults) {:.4f} |",
           *test[['"public"', "Optuna TPE", "random", "defaults"]])
    yield ("has a validation regret of {:.4f} instead of {:.4f} at ε = 1; on test data the "
           "difference is {:.4f}.", regret["Optuna TPE"], regret['"public"'],
           test["Optuna TPE"] - test['"public"'])
    yield ("{} of {} problems lost up to {:.4f} of test accuracy against the defaults",
           sum(low < 0), len(low), -low.min())
    guided = by("overhead_guided", "case", n_jobs="2")["wall ratio, median (range)"]
    yield "a guided search takes up to {:.2f} times as long as", guided.max()
    seconds = by("optimiser_seconds", "optimiser", d="6")["CPU s"].drop("sklearn GP, refitted")
    yield ("| {:.3f} (1,024 candidates), {:.2f} (100,000) | Optuna TPE {:.2f}, Optuna GP {:.1f}; "
           "scikit-optimize {:.1f} for 100 |", *seconds)
    yield ("{} tables with two classes | {:.3f}; with a score {:.3f} | DP-EBM {:.3f}; "
           "diffprivlib {:.3f} (logistic regression), {:.3f} (forest); not private: logistic "
           "regression {:.3f}, boosting {:.3f} |", len(means("DP-EBM")),
           *map(of_two_classes, [*PRIVATE[1:], *ARMS[1:3]]))
    for constant in ("64 fits", "200 suggestions, 6 parameters"):
        yield (constant,)


def readme():
    accuracy = by("scans", "parameters")
    yield row("defaults", "{:.3f}", accuracy.loc["defaults"])
    public = "cross-validation within the public scans"
    yield row(f"{public}, 64 candidates", "{:.3f}", accuracy.loc[public])
    yield row("private search, ε = 1", "**{:.3f}**", accuracy.loc["private search"])
    exact = "the same search without privacy"
    yield row(exact, "{:.3f}", accuracy.loc[exact])
    yield "Cross-validation cannot see why {:.3f} is bad", accuracy.loc[public, "1"]
    for constant in (
        "| parameters | 1 | 2 | 3 |", "a digit 5 or more", "(15 seconds)",
        "is 50 % sure", "at most 73.2 % sure at ε = 1, and 95.3 % at ε = 3",  # e^ε / (1 + e^ε)
        "Of 64 fits, 22 explore", "30 candidates", "397 grey scans that chose",
        "calls 236 of the 397 grey scans a 1",
        "In 20 runs the accuracy was 0.85 on average (0.81 to 0.91)",
        "reaches 0.90 and a support vector machine 0.98", "1,797 records",
    ):
        yield (constant,)


def learners():
    yield ("| {} tables with two classes, ε = 1 | {:.3f} | interpret's DP-EBM {:.3f} (boosting "
           "without privacy {:.3f}) |", len(means("DP-EBM")),
           *map(of_two_classes, ("curved", "DP-EBM", "boosting")))
    yield ("| the same, ε = 3 | {:.3f} | {:.3f} |", of_two_classes("curved", 3.0),
           of_two_classes("DP-EBM", 3.0))
    census = by("census", "epsilon")["curved"]
    yield "| census income, ε = 0.54 | {:.3f} | S-GBDT 0.829, as published (", census["0.54"]
    yield "| census income, ε = 0.07 | {:.3f} | S-GBDT 0.813 |", census["0.07"]
    yield ("arXiv:2309.12041",)


def records():
    best = pd.concat(map(means, ("logistic regression", "boosting")), axis=1).max(axis=1)
    lost = best - means("curved")
    yield ("On {} [measured tables](../reference/benchmarks.md#one-sensitive-table) of 5,000 to "
           "60,000 records, `PrivateClassifier` lost {:.2f} of accuracy at most on {} at ε = 1, "
           "and {:.2f} to {:.2f} on {} whose curves few records show.", len(lost),
           lost[lost < 0.05].max(), sum(lost < 0.05), lost[lost > 0.05].min(), lost.max(),
           sum(lost > 0.05))


def tuning():
    lost = ahead("scored", "searched")
    yield "at ε = 1 a search was [worse on {} of {} tables]", sum(lost > 0), len(lost)


def questions():
    minus, of = hold_out("differences"), shifted()
    regret, test = minus["none: regret"], minus["none: test"]
    yield ("its test score was better on {} of {} problems (mean difference {:+.4f}) and its "
           "validation regret worse on {}, by up to {:.4f}; at ε = 0.3 mean regret was {:.4f} "
           "smaller.", sum(test > 0), len(test), test.mean(), sum(regret > 0), regret.max(),
           -hold_out("differences_at_0.3")["none: regret"].mean())
    yield ("its regret was smaller in {} of {} cases ({:.3f} instead of {:.3f} on average)",
           sum(of["public"] < of["none"]), len(of), *of[["public", "none"]].mean())


def paper():
    test, one = hold_out("test").mean(), by("one_table", "records").loc["census income, 38,000"]
    yield ("loses {:.3f} of test accuracy on average", test["Optuna TPE"] - test['"public"'])
    yield ("and gains {:.3f} over no search", test['"public"'] - test["defaults"])
    yield ("has an accuracy of {:.3f}, and a logistic regression without privacy {:.3f}.",
           one["curved"], one["not private"])


def rare_outcome():
    names = {
        "prevalence": "prevalence", "specificity": "specificity at 10 %",
        "recall": "sensitivity at 10 %", "precision": "positive predictive value at 10 %",
        "roc_auc": "area under the ROC curve", "average_precision": "average precision",
        "calibration_slope": "calibration slope", "brier_score": "Brier score",
    }  # fmt: skip
    widths = by("rare_outcome", ["m", "epsilon"])
    for column, name in names.items():
        shown = [widths.loc["1500", epsilon][column] for epsilon in EPSILONS]
        yield row(name, "{:.3f}", [widths.loc["1500", "1000: values"][column], *shown])
    for m in ("1500", "3000", "6000", "12000"):
        shown = [widths.loc[m, e][column] for column in ("roc_auc", "recall") for e in EPSILONS]
        yield row(f"{int(m):,}", "{:.3f}", shown)
    spread = table("rare_outcome").set_index(["m", "epsilon"])["recall"]
    low, high = (spread.loc["1500", f"{epsilon}: values"].split(" to ") for epsilon in EPSILONS[:2])
    sentence = "Ten runs released values from {:.3f} to {:.3f} at ε = 1, and from {:.3f} to "
    yield (sentence + "{:.3f} at ε = 5.", *map(float, [*low, *high]))
    for way, cells in by("rare_outcome_learners", "way").iterrows():
        spread = "{:.3f} to {:.3f}" if "ε" in way else ""
        ends = cells[["lowest", "highest"]] if spread else []
        yield (f"| {way} | {{:.3f}} | {spread} | {{:.3f}} |", cells["AUC"], *ends,
               cells["mean risk"])


def notes():
    accuracy = by("notes", ["note", "records"])
    for way in dict.fromkeys(table("notes")["note"]):
        few, many = accuracy.loc[way, "4000"], accuracy.loc[way, "20000"]
        yield row(way, "{:.3f}", [few["accuracy"], many["accuracy"], many["without privacy"]])


PAGES = {  # of each, the sections in which each number is explained; None is all of them
    "README.md": ([None], readme),
    "docs/reference/benchmarks.md": ([None], benchmarks),
    "docs/reference/comparison.md": (["Figures", "Where others are better"], comparison),
    "docs/how_to/private_learners.md": (["Private trees?"], learners),
    "docs/how_to/questions.md": (["Does the guided search beat random candidates?"], questions),
    "docs/how_to/one_table.md": ([], records),
    "docs/how_to/own_table.md": ([], notes),
    "docs/how_to/rare_outcome.md": ([], rare_outcome),
    "docs/explanation/choosing_epsilon.md": ([], tuning),
    "docs/explanation/metrics.md": ([], bounds),
    "docs/paper/paper.md": ([], paper),
}
