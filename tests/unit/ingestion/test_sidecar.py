"""metadata.jsonl: what it adds to chunks, and what is refused."""

from __future__ import annotations

import json

import pytest

from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.errors import ConfigError
from ingestion.pipeline import build_chunker, build_ingest, ingest
from ingestion.sidecar import SIDECAR, read_sidecar
from retrieval.errors import FilterError
from retrieval.filters import Where


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"file": "a.pfd"}', r"metadata\.jsonl:2: no file 'a\.pfd' in this corpus; did you mean 'a\.pdf'"),
        ("{", r"metadata\.jsonl:2: no JSON"),
        ('["a.pdf"]', "one object per line"),
        ('{"year": 2020}', "one object per line"),
        ('{"file": "b.pdf"}', "'b.pdf' stands twice"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, said):
    (tmp_path / SIDECAR).write_text('{"file": "b.pdf", "year": 2020}\n' + line + "\n")
    with pytest.raises(ConfigError, match=said):
        read_sidecar(tmp_path, ["a.pdf", "b.pdf"])


def test_without_the_file_nothing_is_known(tmp_path):
    assert read_sidecar(tmp_path, ["a.pdf"]) == {}


def test_years_reach_the_filter_and_a_changed_line_makes_another_corpus(tmp_path):
    typst = pytest.importorskip("typst", reason="typst makes the papers; pip install '.[corpus]'")
    papers = tmp_path / "papers"
    papers.mkdir()
    for name in ("old", "new"):
        (tmp_path / f"{name}.typ").write_text(f"= Fusion\nThe {name} paper on rank fusion says what the ranks say.")
        typst.compile(str(tmp_path / f"{name}.typ"), output=str(papers / f"{name}.pdf"))
    plain, store = to_plain(load()), ArtifactStore(tmp_path / "artifacts")

    def read():
        return ingest(papers, build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), store)

    with pytest.raises(FilterError, match="no chunk of this corpus has a year; write metadata"):
        Where.read(year="2021").mask(read())
    lines = [{"file": "old.pdf", "year": 1999}, {"file": "new.pdf", "year": 2021, "venue": "TACL"}]
    (papers / SIDECAR).write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = read()
    assert set(corpus.column("doc_name")[Where.read(year="2021").mask(corpus)]) == {"new.pdf"}
    assert json.loads(corpus.chunks["metadata_json"][0].as_py()).keys() <= {"year", "venue"}
