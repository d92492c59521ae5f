"""A ranking handed in from outside retrieval, such as the oracle's, which only `evaluation` can make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from retrieval.errors import RetrievalError
from retrieval.schema import Queries, Run, make_run
from retrieval.stage import Context


@dataclass(frozen=True)
class Given:
    """The ranking that the context holds under `key`."""

    VERSION: ClassVar[int] = 1
    key: str

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """The fingerprint of the ranking.

        Raises:
            RetrievalError: nobody handed it in.
        """
        if self.key not in ctx.given:
            raise RetrievalError(f"{self.key!r} is made from judgments; it exists only in run_eval.py")
        return {self.key: ctx.given[self.key].fingerprint}

    def search(self, ctx: Context, queries: Queries) -> Run:
        """The ranking, cut to depth; for one query of it, see `Context`."""
        run = ctx.given[self.key]
        inside = run.query < len(queries)
        if ctx.allowed is not None:
            inside &= ctx.allowed[run.chunk]
        return make_run(run.query[inside], run.chunk[inside], -run.rank[inside].astype(float), ctx.depth)
