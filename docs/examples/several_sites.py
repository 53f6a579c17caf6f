"""Three hospitals choose a model together, and none hands over a record.

Each votes for the candidate that is best on its own records; the hospitals then score the winner,
and the coordinator adds up by number of records. Here all is in one process, where warnings add up
epsilon as if a record might be at all sites. In three buildings, `vote` and `score` run where the
records are, and only what they return is sent.
"""

from collections import Counter

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateBayesSearchCV, PrivateObjective
from sklearn_dpbo.strategies import WorstCase

EPSILON, VOTE_SHARE = 1.0, 0.6

# Public, and the same everywhere: training set, candidates, and how much is spent on what.
X, y = load_breast_cancer(return_X_y=True)
X_TRAIN, Y_TRAIN = X[:150], y[:150]
MODEL = make_pipeline(StandardScaler(), LogisticRegression())
GRID = {"logisticregression__C": [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0]}


class Hospital:
    """Holds records; pays for one vote and one score, together EPSILON."""

    def __init__(self, X_val, y_val, ledger=None):
        self.X_val, self.y_val, self.ledger = X_val, y_val, ledger
        self.m = len(y_val)  # public

    def vote(self):
        """Return the candidate chosen on these records; hardly anything is spent on its score."""
        search = PrivateBayesSearchCV(
            MODEL,
            GRID,
            epsilon=VOTE_SHARE * EPSILON,
            strategy=WorstCase("none", score_share=0.01),
            refit=False,
            ledger=self.ledger,
        )
        return search.fit(X_TRAIN, Y_TRAIN, X_val=self.X_val, y_val=self.y_val).best_params_

    def score(self, params):
        """Return the score of one candidate with noise."""
        objective = PrivateObjective(
            MODEL,
            X_TRAIN,
            Y_TRAIN,
            self.X_val,
            self.y_val,
            epsilon=(1 - VOTE_SHARE) * EPSILON,
            n_calls=1,
            best_share=0.001,
            ledger=self.ledger,
        )
        return objective(params)


def choose(hospitals):
    """Return the candidate with the most votes, weighted by records, and its score on all."""
    votes = Counter()
    for hospital in hospitals:
        votes[tuple(hospital.vote().items())] += hospital.m
    winner = dict(max(votes, key=votes.get))
    total = sum(hospital.m * hospital.score(winner) for hospital in hospitals)
    return winner, total / sum(hospital.m for hospital in hospitals)


if __name__ == "__main__":
    rows = slice(150, 350), slice(350, 500), slice(500, 569)
    params, score = choose([Hospital(X[part], y[part]) for part in rows])
    print(f"guarantee for each record at its hospital: epsilon = {EPSILON:g}")
    print(f"best: {params}, accuracy {score:.3f}")
