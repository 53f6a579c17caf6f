import _thread
import logging
import os
import sys
import threading
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV

SECRET = 54321.0


class Talks(LogisticRegression):
    """Its fit ignores warnings for a while; its prediction writes of the protected record."""

    def fit(self, X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            time.sleep(0.002)
            super().fit(X, y)
        if self.C == 7:
            raise ValueError("this candidate always fails")
        return self

    def predict(self, X):
        time.sleep(0.001)
        for text in X[X == SECRET]:
            os.write(1, f"seen {text}\n".encode())
            print(f"seen {text}", file=sys.stderr)
            warnings.warn(f"seen {text}", UserWarning)
            logging.getLogger().error("seen %s", text)
        return super().predict(np.where(X == SECRET, 0, X))


rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
y = (X[:, 0] > 0).astype(int)
X_val = X.copy()
X_val[3, 1] = SECRET
warnings.simplefilter("ignore", category=UserWarning)
before = [os.fstat(n)[:3] for n in (1, 2)], sys.stdout, sys.stderr, logging.root.manager.disable


def search():
    PrivateBayesSearchCV(Talks(), {"C": [0.1, 1, 7]}, prediction="together", epsilon=1e4).fit(
        X, y, X_val=X_val, y_val=y
    )


def several():
    for _ in range(6):
        search()


search()  # an interrupted import, of OpenDP say, would leave a lock of Python's own behind
for _ in range(2):
    threads = [threading.Thread(target=several) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        timer = threading.Timer(0.05, _thread.interrupt_main)
        try:
            timer.start()
            search()
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            pass
    for thread in threads:
        thread.join()
with warnings.catch_warnings(record=True) as shown:
    warnings.simplefilter("always")
    warnings.warn("shown")
after = [os.fstat(n)[:3] for n in (1, 2)], sys.stdout, sys.stderr, logging.root.manager.disable
assert len(shown) == 1, "warnings are shown"
assert after == before, (before, after)
print("shown")
