"""Claim: what privacy costs in accuracy, on real data, over guidance, epsilon and T.

    python benchmarks/utility.py TABLES [--repeats 20] [--json utility.json] [--problems spam ...]
    python benchmarks/utility.py TABLES --problems tuned   # held-out or shifted, see problems.py
    python benchmarks/utility.py TABLES --shares 0.1 0.2 0.4   # of epsilon, for the released score
    python benchmarks/utility.py TABLES --strategies           # all strategies in one table

Problems of two or three hyper-parameters are *tabulated*: a pool of settings is fitted once
(`tables.py`), and every search, ours through its public interface and others' through theirs, sees
a setting as the nearest one of the pool. Those of six or more, where the nearest is far, are
*live*: every setting is fitted when it is asked for.

Figures are means over repetitions with their standard errors, by patient where patients are the
units; regressions count one minus the absolute error. A repetition is a seed of the search; the
data are cut once.

* regret: validation score of the best setting known (of the pool, or found by any search here)
  minus that of the chosen one, both fitted on the whole training set;
* test: the chosen one's test score; test loss: by how much the best setting known has more;
* score error: |best_score_ - validation score of the chosen setting|;
* differences: "public" minus another method in the same repetition. The best peer is the one with
  the least regret in these very repetitions, of those that have all of them, for each problem.

Ceilings, which see exact validation scores: a random search (what RandomizedSearchCV does), and
the optimisers behind OptunaSearchCV (TPE, GP) and BayesSearchCV (scikit-optimize). Floors: a
uniform pick, and the estimator's own setting ("defaults"), which may lie outside of the space.
"none" evaluates quasi-random candidates and chooses by permute-and-flip: what is private without
guidance. A shift picks validation records unlike the training set, see `problems.py`.
"""

import time
import warnings

from harness import mean_and_error, parser_of, print_head, print_row, print_table, save
from utility_cases import LIVE, Case  # first: it sets the number of threads

# isort: split
import numpy as np
from joblib import Parallel, delayed
from problems import ALL, names_of
from sklearn.base import clone
from utility_peers import PEERS, random_search

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.papers.kusner2015 import GPNoiseFree, GPNoisy
from sklearn_dpbo.papers.kusner2015.published import PublishedGPNoisy
from sklearn_dpbo.strategies import WorstCase

EPSILONS = [0.1, 0.3, 1, 3, 10]
LENGTHS = [32, 64, 128]
GUIDANCE = ["none", "public"]
FLOORS = [("uniform", None, None), ("defaults", None, None)]


def private(case, T, seed, epsilon, **strategy):
    """Return the setting that a private search chooses, and the score it releases."""
    if strategy["guidance"] == "public":
        strategy["public_cv"] = case.cut
    search = PrivateBayesSearchCV(
        case.estimator(), case.space, epsilon=epsilon, n_iter=T, strategy=WorstCase(**strategy),
        scoring=case.scoring, random_state=seed, refit=False, prediction="together",
    )  # fmt: skip
    search.fit(**case.data)
    return search.best_params_, search.best_score_ + case.regression


# With what Kusner et al. leave open (A, tau) set by us; delta = 0.05 where it is needed.
STRATEGIES = {
    "WorstCase()": WorstCase(),
    'WorstCase("none")': WorstCase("none"),
    "GPNoisy()": GPNoisy(),
    "PublishedGPNoisy()": PublishedGPNoisy(),
    "GPNoiseFree(A=0.1, tau=1)": GPNoiseFree(A=0.1, tau=1.0),
}
STRATEGY_PROBLEMS = ["spam", "digits", "forest_cover_svc", "spam_linear"]


def surface(case):
    """Scores of the pool; or over the range of the one parameter, evenly."""
    if not case.live:
        return case.pool
    ((parameter, axis),) = case.space.items()
    places = np.linspace(0.001, 0.999, 200)
    return np.array([case.score({parameter: float(axis.ppf(u))}) for u in places])


def strategy_errors(name, folder, seed, strategy, epsilon, best):
    """(regret, error of the released score as an estimate of the best one)."""
    warnings.simplefilter("ignore")
    case = Case(name, folder)
    strategy = clone(strategy)
    if case.cut is not None and "public_cv" in strategy.get_params():
        strategy.set_params(public_cv=case.cut)
    delta = 0.0 if strategy.assumption is None else 0.05
    search = PrivateBayesSearchCV(
        case.estimator(), case.space, epsilon=epsilon, delta=delta, n_iter=64, strategy=strategy,
        scoring=case.scoring, random_state=seed, refit=False, prediction="together",
    ).fit(**case.data)  # fmt: skip
    return best - case.score(search.best_params_), abs(best - search.best_score_)


def study_strategies(options):
    """One table: regret and error of the released score, by strategy and problem."""
    heads, rows, results = [], {}, []
    for name in names_of(options.problems or STRATEGY_PROBLEMS):
        case = Case(name, options.tables)
        heads.append(f"{case.name}, m = {case.m:,}")
        scores = surface(case)
        rows.setdefault("a uniform pick", []).append(f"{scores.max() - scores.mean():.4f}")
        for label, strategy in STRATEGIES.items():
            for epsilon in options.epsilons:
                found = Parallel(n_jobs=2)(
                    delayed(strategy_errors)(
                        name, options.tables, seed, strategy, epsilon, scores.max()
                    )
                    for seed in range(options.repeats)
                )
                regret, error = np.mean(found, axis=0)
                cell = f"{regret:.4f} / {error:.4f}"
                results.append({"problem": name, "strategy": label, "epsilon": epsilon,
                                "regret": regret, "score_error": error})  # fmt: skip
                key = f"`{label}`, ε = {epsilon:g}"
                rows.setdefault(key, []).append(cell)
                print(heads[-1], key, cell, flush=True)
    print_table(["strategy", *heads], [[label, *cells] for label, cells in rows.items()])
    return results


def uniform_pick(case):
    """Mean (validation, test) score of a random setting."""
    settings = random_search(case, 64, 12345) if case.live else case.table.pool
    return np.mean([(case.score(s), case.test_score(s)) for s in settings], axis=0)


def one_repetition(name, folder, seed, options):
    """Return what each method chose, and (validation, test) score of the best setting known."""
    warnings.simplefilter("ignore")
    case, rows = Case(name, folder), []

    def note(method, T, epsilon, setting, released=None):
        score = case.score(setting)
        error = 0.0 if released is None else abs(released - score)
        rows.append({"method": (method, T, epsilon), "seed": seed, "score": score,
                     "test": case.test_score(setting), "score_error": error})  # fmt: skip

    for guidance in options.guidance:
        for T in options.lengths:
            for epsilon in options.epsilons if T == 64 and not case.live else [1]:
                note(guidance, T, epsilon, *private(case, T, seed, epsilon, guidance=guidance))
    for peer in options.peers:
        longest = max(options.lengths)
        if peer == "scikit-optimize":
            longest = min(longest, options.slow_length)
            if seed >= options.slow_repeats:
                continue
        found = PEERS[peer](case, longest, seed)
        scores = np.array([case.score(setting) for setting in found])
        for T in [t for t in options.lengths if t <= longest]:
            note(peer, T, None, found[scores[:T].argmax()])
    note("defaults", None, None, case.own)
    return rows, case.best()


def study(name, options):
    start = time.perf_counter()
    case = Case(name, options.tables)
    parts, bests = zip(*Parallel(n_jobs=2)(
        delayed(one_repetition)(name, options.tables, seed, options)
        for seed in range(options.repeats)
    ), strict=True)  # fmt: skip
    best, best_test = max(bests)
    score, test = uniform_pick(case)
    uniform = {"method": ("uniform", None, None), "seed": None, "score": score, "test": test,
               "score_error": 0.0}  # fmt: skip
    cells = {}
    for row in [uniform, *(row for part in parts for row in part)]:
        cells.setdefault(row["method"], {})[row["seed"]] = row
    summary = []
    for (method, T, epsilon), found in cells.items():
        mean, error = mean_and_error(
            [(best - x["score"], x["test"], x["score_error"]) for x in found.values()]
        )
        summary.append({
            "method": method, "T": T, "epsilon": epsilon, "repeats": len(found),
            "regret": mean[0], "regret_se": error[0], "test": mean[1], "test_se": error[1],
            "test_loss": best_test - mean[1], "test_loss_se": error[1],
            "score_error": mean[2], "score_error_se": error[2],
        })  # fmt: skip
    return {"problem": case.name, "name": name, "m": case.m, "live": case.live, "best": best,
            "best_test": best_test, "rows": summary, "differences": differences(cells),
            "seconds": time.perf_counter() - start}  # fmt: skip


def differences(cells):
    """Guidance "public" minus others, in regret and in test score, paired by repetition."""
    found = []
    for (method, T, epsilon), ours in cells.items():
        if method != "public":
            continue
        peers = [key for key in cells
                 if key[0] in PEERS and key[1] == T and len(cells[key]) == len(ours)]  # fmt: skip
        others = {"none": ("none", T, epsilon), "defaults": ("defaults", None, None)}
        if peers:
            others["best peer"] = max(peers, key=lambda key: mean_score(cells[key]))
        for label, key in others.items():
            if key in cells:
                mean, error = mean_and_error([
                    (theirs["score"] - ours[seed]["score"], ours[seed]["test"] - theirs["test"])
                    for seed, theirs in cells[key].items()
                ])  # fmt: skip
                found.append({
                    "T": T, "epsilon": epsilon, "minus": label, "method": key[0],
                    "repeats": len(ours), "regret": mean[0], "regret_se": error[0],
                    "test": mean[1], "test_se": error[1],
                })  # fmt: skip
    return found


def mean_score(found):
    return np.mean([row["score"] for row in found.values()])


def study_shares(names, options):
    """Regret and score error in units, over the share of epsilon that the score is given."""
    print_head(["score_share", "regret", "score error", "sum"])
    for share in options.shares:
        errors = Parallel(n_jobs=2)(
            delayed(_share_errors)(name, options.tables, seed, share)
            for name in names for seed in range(options.repeats)
        )  # fmt: skip
        regret, error = np.mean(errors, axis=0)
        print_row([f"{share:g}", f"{regret:.2f}", f"{error:.2f}", f"{regret + error:.2f}"])


def _share_errors(name, folder, seed, share):
    warnings.simplefilter("ignore")
    case = Case(name, folder)
    chosen, released = private(case, 64, seed, 1, guidance="public", score_share=share)
    score = case.score(chosen)
    return case.m * (case.pool.max() - score), case.m * abs(released - score)


def cell(value, error, sign=""):
    if np.isnan(value):
        return ""
    return f"{value:{sign}.4f}" + ("" if np.isnan(error) else f" ± {error:.4f}")


def table_of(results, columns, value="regret"):
    """Print a Markdown table: problems by (method, T, epsilon); means where no problem lacks it."""
    heads = [m if e is None else f"{m}, {e:g}" for m, _, e in columns]
    body, totals = [], []
    for r in results:
        found = {(x["method"], x["T"], x["epsilon"]): (x[value], x[f"{value}_se"])
                 for x in r["rows"]}  # fmt: skip
        row = [found.get(c, (np.nan, np.nan)) for c in columns]
        totals.append(row)
        body.append([r["problem"], f"{r['m']:,}", *(cell(*x) for x in row)])
    body.append(["mean", "", *(cell(*x) for x in over_problems(totals))])
    print_table(["problem", "m", *heads], body)


def over_problems(figures):
    """(mean, standard error given these problems) of figures of shape (problems, columns, 2)."""
    value, error = np.moveaxis(np.array(figures), -1, 0)
    return np.column_stack([value.mean(axis=0), (error**2).sum(axis=0) ** 0.5 / len(value)])


def table_of_differences(results, T, epsilon):
    """Print a Markdown table: "public" minus others; below 0 is less regret."""
    labels, body, totals = ["none", "defaults", "best peer"], [], []
    for r in results:
        found = {x["minus"]: x for x in r["differences"] if (x["T"], x["epsilon"]) == (T, epsilon)}
        row = [(found[k][v], found[k][f"{v}_se"]) if k in found else (np.nan, np.nan)
               for k in labels for v in ("regret", "test")]  # fmt: skip
        totals.append(row)
        peer = found["best peer"]["method"] if "best peer" in found else ""
        body.append([r["problem"], f"{r['m']:,}", *(cell(*x, "+") for x in row), peer])
    body.append(["mean", "", *(cell(*x, "+") for x in over_problems(totals)), ""])
    print_table(["problem", "m", *(f"{k}: {v}" for k in labels for v in ("regret", "test")),
                 "peer"], body)  # fmt: skip


def show(results, options):
    for T in options.lengths:
        methods = [*FLOORS, *((g, T, 1) for g in options.guidance),
                   *((p, T, None) for p in options.peers)]  # fmt: skip
        for value in ("regret", "test"):
            print(f"\n{value} at epsilon = 1, T = {T}")
            table_of(results, methods, value)
        if "public" in options.guidance:
            print(f"\n'public' minus others, epsilon = 1, T = {T}")
            table_of_differences(results, T, 1)
    tabulated = [r for r in results if not r["live"]]
    if 64 not in options.lengths or not tabulated:
        return
    for guidance in options.guidance:
        print(f"\nregret over epsilon, T = 64, guidance {guidance!r}")
        table_of(tabulated, [(guidance, 64, e) for e in options.epsilons])
    for value in ("test_loss", "score_error") if "public" in options.guidance else ():
        print(f"\n{value} over epsilon, T = 64, guidance 'public'")
        table_of(tabulated, [("public", 64, e) for e in options.epsilons], value)


def cases():
    rng = np.random.default_rng(0)
    for name, make in ALL.items():
        if name == "spam_linear":  # for --strategies
            continue
        yield name
        yield from (f"{name}/{shift}" for shift in make(rng).shifts)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("tables", help="folder of the tables; missing ones are made")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--slow-repeats", type=int, default=3, help="of scikit-optimize")
    parser.add_argument("--slow-length", type=int, default=64, help="longest of scikit-optimize")
    parser.add_argument("--problems", nargs="+", help='names, or "tuned", "held-out" and "shifted"')
    parser.add_argument("--guidance", nargs="+", default=GUIDANCE)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--shares", nargs="+", type=float, help="study these, and nothing else")
    parser.add_argument("--strategies", action="store_true", help="these, and nothing else")
    options = parser.parse_args()
    if options.shares:
        names = names_of(options.problems or cases())
        study_shares([n for n in names if n.partition("/")[0] not in LIVE], options)
        return
    if options.strategies:
        results = study_strategies(options)
        save(results, options.json)
        return
    results = []
    for name in names_of(options.problems or cases()):
        results.append(study(name, options))
        print(f"{results[-1]['problem']}: {results[-1]['seconds']:.0f} s", flush=True)
        save(results, options.json)
    show(results, options)


if __name__ == "__main__":
    main()
