"""trec_eval sees the order that we froze: for runs that we write, and for runs made elsewhere with ties."""

import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.trec import read_run, write_run
from retrieval.schema import Queries, make_run

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(str.strip)
IDS = st.lists(NAMES, min_size=1, max_size=12, unique=True)
SCORES = st.one_of(
    st.integers(-2, 2).map(float), st.floats(-1e30, 1e30, width=64), st.floats(1, 1 + 1e-6), st.just(-0.0)
)


def ranks(judged_ids, scored):
    """The rank of each id as trec_eval has it: the reciprocal rank of a run in which this id alone is relevant."""
    judged = {f"only {name}": {name: 1} for name in judged_ids}
    values = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(dict.fromkeys(judged, scored))
    return {name: round(1 / values[f"only {name}"]["recip_rank"]) for name in judged_ids}


def scored_lines(path):
    return {line.split()[2]: float(line.split()[4]) for line in path.read_text().splitlines()}


@settings(max_examples=300, deadline=None)
@given(ids=IDS, data=st.data())
def test_a_written_run_has_our_order(ids, data, tmp_path_factory):
    ids = sorted(ids)
    scores = data.draw(st.lists(SCORES, min_size=len(ids), max_size=len(ids)))
    run = make_run([0] * len(ids), list(range(len(ids))), scores, depth=len(ids))
    path = tmp_path_factory.mktemp("run") / "r.trec"
    write_run(path, run, Queries.of(["q"], [""]), ids, "t")
    written = scored_lines(path)
    theirs = ranks(list(written), written)
    assert [theirs[name] for name in written] == run.rank.tolist()
    outside = read_run(path)
    assert [outside.ids[item] for item in outside.item] == [ids[chunk] for chunk in run.chunk]


@settings(max_examples=300, deadline=None)
@given(ids=st.lists(st.text("aZé0-~", min_size=1, max_size=4), min_size=1, max_size=12, unique=True), data=st.data())
def test_a_run_made_elsewhere_has_trec_evals_order(ids, data, tmp_path_factory):
    scores = data.draw(st.lists(SCORES, min_size=len(ids), max_size=len(ids)))
    path = tmp_path_factory.mktemp("run") / "theirs.trec"
    path.write_text("".join(f"q Q0 {name} 0 {score!r} t\n" for name, score in zip(ids, scores, strict=True)))
    outside = read_run(path)
    theirs = ranks(ids, dict(zip(ids, scores, strict=True)))
    assert [outside.ids[item] for item in outside.item] == sorted(ids, key=theirs.__getitem__)
