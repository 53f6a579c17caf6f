"""Draw the picture of the documentation's audit: ``python docs/figures/audit.py``."""

from pathlib import Path

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.audit import ConstantClassifier, audit_search, opposed_models

search = PrivateBayesSearchCV(ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0)
report = audit_search(search, *opposed_models(), n=2000, random_state=0)
figure = report.plot().figure
figure.savefig(Path(__file__).parent / "audit.png", dpi=90)
