"""Fit the sentence-role classifier: ``assets/roles/classifier.json``.

Trained on abstracts written for this project (``assets/roles/*.jsonl``) and on nothing
else; CSFCube's labels, where present, only measure it. Class weights bring the roles to
the shares that computer-science abstracts have in CSAbstruct (Cohan et al. 2019, table 2:
background and objective .45, method .33, result .22). Run: ``python -m benchmarks.fit_roles``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from engine.config import ASSETS, ROOT
from engine.text.roles import WEIGHTS, RoleClassifier, ngrams, position_features

ROLES = ("background", "method", "result")
SHARES = (0.45, 0.33, 0.22)
LABELS = {"background_label": 0, "objective_label": 0, "method_label": 1, "result_label": 2}
CSFCUBE = ROOT.parent / "shared/data/csfcube-open/abstracts-csfcube-preds.jsonl"


def training_set() -> tuple[list[str], list[list[float]], list[int]]:
    """Sentences, position features and role indices."""
    sentences, positions, roles = [], [], []
    for path in sorted((ASSETS / "roles").glob("abstracts*.jsonl")):
        for line in path.open(encoding="utf-8"):
            abstract = json.loads(line)
            count = len(abstract["sentences"])
            for i, (sentence, letter) in enumerate(
                zip(abstract["sentences"], abstract["roles"], strict=True)
            ):
                sentences.append(sentence)
                positions.append(position_features(i, count))
                roles.append("BMR".index(letter))
    return sentences, positions, roles


def fit(path: Path = WEIGHTS, strength: float = 3.0) -> None:
    """Fit and write the weights, rounded so that the file stays readable."""
    sentences, positions, roles = training_set()
    vectorizer = TfidfVectorizer(analyzer=ngrams, sublinear_tf=True, min_df=2)
    features = hstack([vectorizer.fit_transform(sentences), csr_matrix(positions)]).tocsr()
    present = np.bincount(roles) / len(roles)
    weights = {i: share / present[i] for i, share in enumerate(SHARES)}
    model = LogisticRegression(C=strength, max_iter=5000, class_weight=weights)
    model.fit(features, roles)
    terms = vectorizer.get_feature_names_out().tolist()
    data = {
        "made_by": "python -m benchmarks.fit_roles",
        "trained_on": f"{len(sentences)} sentences written for SeedLens",
        "roles": ROLES,
        "intercept": model.intercept_.round(4).tolist(),
        "position_weights": model.coef_[:, len(terms) :].round(4).tolist(),
        "terms": terms,
        "idf": vectorizer.idf_.round(4).tolist(),
        "term_weights": model.coef_[:, : len(terms)].round(4).tolist(),
    }
    path.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")


def accuracy() -> float | None:
    """Share of CSFCube's labelled sentences whose role is predicted; None without the data."""
    if not CSFCUBE.exists():
        return None
    classifier, right, total = RoleClassifier(), 0, 0
    for line in CSFCUBE.open(encoding="utf-8"):
        document = json.loads(line)
        labels = [LABELS.get(label, -1) for label in document["pred_labels"]]
        if labels:
            predicted = classifier.predict(document["abstract"]).argmax(axis=1)
            right += sum(int(p == t) for p, t in zip(predicted, labels, strict=True) if t >= 0)
            total += sum(t >= 0 for t in labels)
    return right / total


if __name__ == "__main__":
    fit()
    print(f"accuracy on CSFCube's labels: {accuracy()}")
