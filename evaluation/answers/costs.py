"""What answers cost: time, tokens, money, and the calls that failed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from evaluation.answers.tables import GROUP, answered

COSTS = [*GROUP, "questions", "failed", "refused", "cached", "seconds_p50", "seconds_p95", "input_tokens"]
COSTS += ["output_tokens", "cost", "unpriced", "errors"]


def costs(answers: pd.DataFrame) -> pd.DataFrame:
    """One row for each strategy, generator and context, columns `COSTS`.

    `questions` that were asked, of which `failed` had a call that failed; the other columns are of the rest:
    `refused`, `cached` count; `seconds_p50`, `_p95` of an answer that was not cached; tokens and `cost` (US dollars)
    are sums, `cost` of the answers whose price is known; `unpriced` counts the others. `errors`: the failures by
    name, `CapacityError 3; ProviderError 1`.
    """
    rows = [(*group, *_row(own)) for group, own in answers.groupby(GROUP, sort=True)]
    return pd.DataFrame(rows, columns=COSTS)


def _row(own: pd.DataFrame) -> tuple[object, ...]:
    good = answered(own)
    cached = good["cached"].to_numpy(bool)
    fresh = good["seconds"].to_numpy(np.float64)[~cached]
    p50, p95 = np.quantile(fresh, [0.5, 0.95]) if len(fresh) else (np.nan, np.nan)
    price = good["cost"].to_numpy(np.float64)
    failures = Counter(str(error).partition(":")[0] for error in own["error"] if error)
    return (
        *(len(own), len(own) - len(good), int(good["refused"].astype(bool).sum()), int(cached.sum())),
        *(float(p50), float(p95), int(good["input_tokens"].sum()), int(good["output_tokens"].sum())),
        *(float(np.nansum(price)), int(np.isnan(price).sum())),
        "; ".join(f"{name} {count}" for name, count in sorted(failures.items())),
    )
