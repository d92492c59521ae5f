"""RP-TR-25: MaxSim over MiniLM's token vectors and a tiny SPLADE, beside BM25 and one vector per document.

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_25_late_interaction.py [artifact folder]

Scores, storage, how many candidates MaxSim needs, how many terms SPLADE needs, and what a query token meets: itself,
or another token. Writes `corpus/sources/measured/rp-25.json`. Slow without artifacts: two models read everything.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from rp_13_shared import Collection, artifacts, holm, means, paired, write
from scipy.sparse import csc_array, csr_array

from retrieval.analysis import STOP_WORDS
from retrieval.fusers.rrf import Rrf
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.dense import Dense
from retrieval.retrievers.late_interaction import LateInteraction
from retrieval.retrievers.splade import Splade, heaviest
from retrieval.schema import Run, make_run
from retrieval.sparse import Postings
from retrieval.token_vectors import TokenIndex, mean_vector

SEED = 25
NAMES = ("med", "cacm")
METRICS = ("nDCG@5", "R@100")
CANDIDATES = (20, 50, 100, 200, 500, 1000)
TERMS = (8, 16, 32, 64, 128)
TOP = 10


def best_matches(index: TokenIndex, query: Any) -> np.ndarray:
    """The largest cosine of every query token with every document's tokens, [n_query_tokens, n_documents]."""
    lengths = np.diff(index.offsets)
    texts = np.flatnonzero(lengths)
    parts = []
    for some in np.array_split(texts, max(1, len(index.tokens) // 50_000)):
        tokens = np.asarray(index.tokens[index.offsets[some[0]] : index.offsets[some[-1] + 1]], dtype=np.float32)
        starts = np.cumsum(lengths[some]) - lengths[some]
        parts.append(np.maximum.reduceat(query.astype(np.float32) @ tokens.T, starts, axis=1))
    found = np.full((len(query), len(lengths)), -np.inf)
    found[:, texts] = np.hstack(parts)
    return found[:, index.owner]


def ranking(scores: list[np.ndarray], pools: list[np.ndarray]) -> Run:
    """The first hundred of every query's pool by score."""
    owner = np.repeat(np.arange(len(scores)), [len(pool) for pool in pools])
    values = [score[pool] for score, pool in zip(scores, pools, strict=True)]
    return make_run(owner, np.concatenate(pools), np.concatenate(values), 100, places=6)


def is_filler(token: str) -> bool:
    """Whether a token is a stop word or a punctuation mark; a piece of a word is neither."""
    return token in STOP_WORDS or not token.removeprefix("##").isalnum()


def ids_of(encoder: Any, text: str) -> np.ndarray:
    """Token ids that have a vector, as many as the encoder reads."""
    found = encoder.network.tokenizer(text, truncation=True, max_length=encoder.network.max_seq_length)["input_ids"]
    return np.asarray([number for number in found if number not in encoder.special])


def meetings(
    collection: Collection, index: TokenIndex, encoder: Any, vectors: list[Any], run: Run
) -> dict[str, float]:
    """Of query tokens and the first documents: how many meet themselves, and what share of the score is filler."""
    texts, network = collection.ctx.corpus.texts, encoder.network.tokenizer
    echoes, missing, filler = [], [], []
    for query, text in enumerate(collection.queries.query):
        asked = ids_of(encoder, text)
        plain = np.asarray([is_filler(word) for word in network.convert_ids_to_tokens(asked.tolist())])
        for row in run.chunk[(run.query == query) & (run.rank <= TOP)].tolist():
            low, high = index.offsets[index.owner[row]], index.offsets[index.owner[row] + 1]
            here = ids_of(encoder, texts[row])
            similar = vectors[query].astype(np.float64) @ index.tokens[low:high].astype(np.float64).T
            met, best = here[similar.argmax(axis=1)], similar.max(axis=1)
            present = np.isin(asked, here)
            echoes += (met == asked)[present & ~plain].tolist()
            missing += (~present[~plain]).tolist()
            filler.append(best[plain].sum() / best.sum())
    return {
        "echo": round(float(np.mean(echoes)), 4),
        "absent": round(float(np.mean(missing)), 4),
        "filler": round(float(np.mean(filler)), 4),
    }


def sparse(collection: Collection, stage: Splade, top: int | None, parts: tuple[Any, Any]) -> dict[str, float]:
    """Scores and postings with the `top` heaviest terms of every document."""
    documents, queries = parts
    if top is not None:
        documents = _stacked([heaviest(documents[[row]].toarray()[0], top) for row in range(documents.shape[0])])
    values = collection.values(Postings.of(documents).search(queries, 100), *METRICS).mean(axis=1).round(4)
    return dict(zip(METRICS, values.tolist(), strict=True)) | {"terms": round(documents.nnz / documents.shape[0], 1)}


def _stacked(rows: list[csr_array]) -> csr_array:
    from scipy.sparse import vstack

    return csr_array(vstack(rows, format="csr"))


def measure(name: str, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The figures of a collection, and its comparisons."""
    collection = Collection.open(name, folder / name)
    ctx, clusters, texts = collection.ctx, collection.queries.cluster, collection.ctx.corpus.texts
    stage, splade = LateInteraction(exact_below=10**6), Splade()
    index, encoder = stage._index(ctx), stage._encoder()
    vectors = [encoder.encode([text], "query", "")[0] for text in collection.queries.query]
    network, may = encoder.network.tokenizer, np.flatnonzero(index.has_tokens)
    scores, content, pools = [], [], []
    for text, tokens in zip(collection.queries.query, vectors, strict=True):
        matches = best_matches(index, tokens)
        words = network.convert_ids_to_tokens(ids_of(encoder, text).tolist())
        scores.append(matches.sum(axis=0))
        content.append(matches[[not is_filler(word) for word in words]].sum(axis=0))
        near = np.argsort(-(index.means @ mean_vector(tokens)), kind="stable")
        pools.append(near[np.isin(near, may)])
    late = ranking(scores, [may] * len(scores))
    spec = {"stage": splade, **splade.inputs(ctx)}
    postings, _ = ctx.artifact("splade", spec, lambda out: splade._build(ctx, out), _load_splade)
    asked, _ = splade._encode(list(collection.queries.query), batch_size=1)
    shape = (postings.n_chunks, len(postings.indptr) - 1)
    documents = csr_array(csc_array((postings.weights, postings.rows, postings.indptr), shape=shape))
    runs = {
        "bm25": collection.search(Bm25()),
        "vector": Dense().search(ctx, collection.queries),
        "late": late,
        "content": ranking(content, [may] * len(content)),
        "splade": postings.search(asked, 100),
    }
    head = [np.sort(runs["bm25"].chunk[runs["bm25"].query == query]) for query in range(len(scores))]
    runs["second look"] = ranking(scores, head)
    for arm in ("vector", "late", "splade"):
        runs[f"fused {arm}"] = Rrf().fuse(ctx, collection.queries, {"bm25": runs["bm25"], arm: runs[arm]})
    found: dict[str, Any] = {}
    comparisons = []
    for metric in METRICS:
        rows = {arm: collection.values(run, metric)[0] for arm, run in runs.items()}
        if metric == "R@100":
            del rows["second look"]  # it holds the same documents as BM25
        pairs = paired(rows, "bm25", clusters, SEED)
        pairs |= {
            "late - vector": paired({"late": rows["late"], "vector": rows["vector"]}, "vector", clusters, SEED)[
                "late"
            ]
        }
        comparisons += pairs.values()
        found[metric] = {
            "arms": dict(zip(rows, means(np.stack(list(rows.values())), clusters, SEED), strict=True)),
            "pairs": pairs,
        }
    own = splade_tokens(texts)
    outside = documents.copy()
    for row, mine in enumerate(own):
        part = slice(outside.indptr[row], outside.indptr[row + 1])
        outside.data[part] *= ~np.isin(outside.indices[part], mine)
    found["size"] = {
        "questions": len(clusters),
        "documents": len(texts),
        "characters": round(float(np.mean([len(text) for text in texts])), 1),
        "tokens": round(len(index.tokens) / len(texts), 1),
        "token_bytes": int(index.tokens.nbytes),
        "vector_bytes": int(len(texts) * index.tokens.shape[1] * 4),
        "lexical": round(collection.terms.counts.nnz / len(texts), 1),
        "truncated": index.truncated,
        "query_tokens": round(float(np.mean([len(v) for v in vectors])), 1),
    }
    exact = [set(late.chunk[(late.query == q) & (late.rank <= TOP)].tolist()) for q in range(len(vectors))]
    for size in CANDIDATES:
        run = ranking(scores, [np.sort(pool[:size]) for pool in pools])
        share = [
            len(exact[q] & set(run.chunk[(run.query == q) & (run.rank <= TOP)].tolist())) / TOP
            for q in range(len(exact))
        ]
        score = float(collection.values(run, "nDCG@5").mean())
        found.setdefault("candidates", {})[str(size)] = [round(float(np.mean(share)), 4), round(score, 4)]
    found["meetings"] = meetings(collection, index, encoder, vectors, late)
    found["expansion"] = {
        "entries": round(float((outside.data > 0).mean()), 4),
        "weight": round(float(outside.data.sum() / documents.data.sum()), 4),
        "query_terms": round(asked.nnz / asked.shape[0], 1),
    }
    found["terms"] = {
        str(top or "all"): sparse(collection, splade, top, (documents, asked)) for top in (*TERMS, None)
    }
    return found, comparisons


def splade_tokens(texts: list[str]) -> list[np.ndarray]:
    """The token ids that every text really contains, as SPLADE reads it."""
    from retrieval.retrievers.splade import load

    return [np.unique(ids) for ids in load("splade-tiny").tokenizer(list(texts), verbose=False)["input_ids"]]


def _load_splade(folder: Path) -> tuple[Postings, int]:
    return Postings.load(folder), int(np.load(folder / "truncated.npy"))


def main(arguments: list[str]) -> None:
    """Measure every collection; all comparisons are corrected together."""
    folder = artifacts(arguments)
    parts = {name: measure(name, folder) for name in NAMES}
    rows = [row for _, comparisons in parts.values() for row in comparisons]
    holm(rows)
    write("rp-25", {name: found for name, (found, _) in parts.items()} | {"holm": {"n": len(rows)}})


if __name__ == "__main__":
    main(sys.argv[1:])
