"""Fit the sentence-role classifier: ``assets/roles/classifier.json``.

Trained on abstracts written for this project (``assets/roles/abstracts*.jsonl``) and on
nothing else; CSFCube's labels, where present, only measure it. Class weights bring the
roles to the shares that computer-science abstracts have in CSAbstruct (Cohan et al. 2019,
table 2: background and objective .45, method .33, result .22). The settings of the regression
on words were chosen by cross-validation over whole abstracts (:func:`cross_validated`); those of
the one on vectors from a few, on CSFCube. How often both are right is written beside the
weights, which do not depend on it.
Run: ``python -m tools.fit.roles``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.homes import CSFCUBE
from engine.config import ASSETS
from engine.encode.loaders import load_encoder
from engine.lenses.roles import WEIGHTS, RoleClassifier, ngrams, position_features
from engine.numeric import FloatArray
from engine.types.encoders import Passage

ROLES = ("background", "method", "result")
SHARES = (0.45, 0.33, 0.22)
LABELS = {"background_label": 0, "objective_label": 0, "method_label": 1, "result_label": 2}
LABELLED = CSFCUBE / "abstracts-csfcube-preds.jsonl"
STRENGTH = 8.0
"""Inverse regularisation of the regression."""
NEIGHBOUR = 0.6
"""Scale of the neighbours' terms: below 1, they are regularised harder than a sentence's own."""
CHAIN = 0.6
"""Share of the transitions' log-weight that is used; position and neighbours know the rest."""
VECTOR_STRENGTH = 0.003
"""Inverse regularisation of the regression on sentence vectors."""
VECTOR_LENGTH = 4.0
"""Length that sentence vectors have there; what is longer is regularised less than position."""
VECTOR_SHARE = 0.6
"""What it counts for beside the one on words."""


class Abstract(NamedTuple):
    """One abstract."""

    sentences: list[str]
    roles: list[int]  # the index of each sentence's role in `ROLES`
    vectors: FloatArray  # (sentences, d) in context, by the embedded model


Encode = Callable[[Sequence[Sequence[str]]], Sequence[FloatArray]]


def in_context(documents: Sequence[Sequence[str]]) -> list[FloatArray]:
    """The sentence vectors (s, d) of each document, as the index has them."""
    encoder = load_encoder(bulk=True)
    vectors = []
    for start in range(0, len(documents), 64):
        passages = []
        for sentences in documents[start : start + 64]:
            starts = np.cumsum([0, *(len(s) + 1 for s in sentences)]).tolist()
            spans = tuple((a, a + len(s)) for a, s in zip(starts, sentences, strict=False))
            passages.append(Passage("", " ".join(sentences), spans))
        vectors += [encoding.sentences for encoding in encoder.encode(passages)]
    return vectors


def training_set(encode: Encode = in_context) -> list[Abstract]:
    """All abstracts written for this project, in the order of their files."""
    records = [
        json.loads(line)
        for path in sorted((ASSETS / "roles").glob("abstracts*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    vectors = encode([record["sentences"] for record in records])
    return [
        Abstract(record["sentences"], ["BMR".index(letter) for letter in record["roles"]], own)
        for record, own in zip(records, vectors, strict=True)
    ]


def transitions(abstracts: Sequence[Abstract]) -> NDArray[np.float64]:
    """Pointwise mutual information (3, 3) of a role (row) and the role that follows it.

    Without the roles' own frequencies, which the regression already knows.
    """
    counts = np.ones((len(ROLES), len(ROLES)))
    for abstract in abstracts:
        for role, following in pairwise(abstract.roles):
            counts[role, following] += 1
    joint = counts / counts.sum()
    return np.asarray(np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0))))


def _features(abstracts: Sequence[Abstract], terms: csr_matrix) -> csr_matrix:
    """Own terms, the next sentence's, the previous one's, and position, side by side."""
    counts = [len(abstract.sentences) for abstract in abstracts]
    positions = [position_features(i, count) for count in counts for i in range(count)]
    ends = np.cumsum(counts)
    following, preceding = np.arange(1, ends[-1] + 1), np.arange(-1, ends[-1] - 1)
    # Index -1 is the empty row appended here: the ends of a document have one neighbour.
    following[ends - 1] = preceding[ends - counts] = -1
    padded = csr_matrix((terms.data, terms.indices, [*terms.indptr, terms.nnz]))
    padded.resize(len(positions) + 1, terms.shape[1])
    neighbours = [NEIGHBOUR * padded[following], NEIGHBOUR * padded[preceding]]
    return hstack([terms, *neighbours, csr_matrix(positions)]).tocsr()


def fit(path: Path = WEIGHTS, abstracts: Sequence[Abstract] | None = None) -> None:
    """Fit and write the weights, rounded so that the file stays readable."""
    abstracts = training_set() if abstracts is None else abstracts
    sentences = [sentence for abstract in abstracts for sentence in abstract.sentences]
    roles = [role for abstract in abstracts for role in abstract.roles]
    vectorizer = TfidfVectorizer(analyzer=ngrams, sublinear_tf=True, min_df=2)
    features = _features(abstracts, vectorizer.fit_transform(sentences))
    present = np.bincount(roles) / len(roles)
    weights = {i: share / present[i] for i, share in enumerate(SHARES)}
    model = LogisticRegression(C=STRENGTH, max_iter=5000, class_weight=weights)
    model.fit(features, roles)
    by_vectors = LogisticRegression(C=VECTOR_STRENGTH, max_iter=5000, class_weight=weights)
    by_vectors.fit(_vector_features(abstracts), roles)
    terms = vectorizer.get_feature_names_out().tolist()
    own, following, preceding, position = np.split(
        model.coef_, [len(terms) * k for k in (1, 2, 3)], axis=1
    )
    data = {
        "made_by": "python -m tools.fit.roles",
        "trained_on": f"{len(sentences)} sentences written for SeedLens",
        "roles": ROLES,
        "intercept": model.intercept_.round(4).tolist(),
        "position_weights": position.round(4).tolist(),
        "transitions": (CHAIN * transitions(abstracts)).round(4).tolist(),
        "terms": terms,
        "idf": vectorizer.idf_.round(3).tolist(),
        "own": own.round(3).tolist(),
        "from_next": (NEIGHBOUR * following).round(3).tolist(),
        "from_previous": (NEIGHBOUR * preceding).round(3).tolist(),
        "vectors": {
            "share": VECTOR_SHARE,
            "intercept": by_vectors.intercept_.round(4).tolist(),
            "weights": _unscaled(by_vectors.coef_).round(4).tolist(),
        },
    }
    _write(data, path)


def _vector_features(abstracts: Sequence[Abstract]) -> NDArray[np.float64]:
    """Each sentence's vector and position."""
    rows = []
    for abstract in abstracts:
        count = len(abstract.sentences)
        positions = [position_features(i, count) for i in range(count)]
        rows.append(np.hstack([VECTOR_LENGTH * abstract.vectors, positions]))
    return np.concatenate(rows)


def _unscaled(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights (roles, d + positions) for vectors of unit length."""
    scales = np.full(weights.shape[1], VECTOR_LENGTH)
    scales[-len(position_features(0, 1)) :] = 1.0
    return weights * scales


def _write(data: Mapping[str, object], path: Path) -> None:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text.replace('],"', '],\n"') + "\n", encoding="utf-8")


def cross_validated(abstracts: Sequence[Abstract], folds: int = 5, seed: int = 0) -> float:
    """Share of right roles in abstracts that were left out of the fit, whole abstracts each."""
    order = np.random.default_rng(seed).permutation(len(abstracts))
    right = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(folds):
            held_out = set(order[k::folds].tolist())
            path = Path(folder) / "fold.json"
            fit(path, [a for i, a in enumerate(abstracts) if i not in held_out])
            classifier = RoleClassifier(path)
            for i in held_out:
                sentences, _, vectors = abstracts[i]
                predicted = classifier.predict(sentences, vectors).argmax(axis=1)
                right += int((predicted == np.array(abstracts[i].roles)).sum())
                total += len(predicted)
    return right / total


def accuracy(limit: int | None = None) -> float | None:
    """Share of CSFCube's labelled sentences whose role is predicted; None without the data.

    `limit`: of so many abstracts only.
    """
    if not LABELLED.exists():
        return None
    classifier, right, total = RoleClassifier(), 0, 0
    documents = [json.loads(line) for line in LABELLED.open(encoding="utf-8")]
    documents = [document for document in documents if document["pred_labels"]][:limit]
    vectors = in_context([document["abstract"] for document in documents])
    for document, own in zip(documents, vectors, strict=True):
        labels = np.array([LABELS.get(label, -1) for label in document["pred_labels"]])
        predicted = classifier.predict(document["abstract"], own).argmax(axis=1)
        right += int((predicted == labels).sum())
        total += int((labels >= 0).sum())
    return right / total


def note_accuracies(own: float, csfcube: float | None, path: Path = WEIGHTS) -> None:
    """Write beside the weights what :func:`cross_validated` and :func:`accuracy` measured."""
    noted = {"own abstracts, 5-fold cross-validation": round(own, 4)}
    if csfcube is not None:
        noted["CSFCube's predicted labels, never trained on"] = round(csfcube, 4)
    data = json.loads(path.read_text(encoding="utf-8"))
    head = {name: data.pop(name) for name in ("made_by", "trained_on")}
    _write({**head, "accuracy": noted, **data}, path)


if __name__ == "__main__":
    written = training_set()
    fit(abstracts=written)
    own, csfcube = cross_validated(written), accuracy()
    note_accuracies(own, csfcube)
    print(f"accuracy on abstracts left out of the fit: {own:.4f}")
    print(f"accuracy on CSFCube's labels: {csfcube}")
