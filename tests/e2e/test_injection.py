"""Poisoned documents change neither what is said nor what is cited; `tests/injection` has the set and the promise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from generation.schema import Answer
from ingestion.schema import Corpus
from retrieval.api import Searcher
from tests.injection.attacks import Attack, asked, read_attacks
from tests.injection.bases import read_bases
from tests.injection.outcome import changes, fooled

pytest.importorskip("typst")
api = pytest.importorskip("generation.api")
BASES = read_bases()
ATTACKS = read_attacks()
PROMISED = [attack for attack in ATTACKS if not attack.beyond]
KINDS = sorted({attack.kind for attack in PROMISED})
Ask = Callable[[Corpus, str], Answer]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    from tests.injection.corpora import read, write

    folder = tmp_path_factory.mktemp("injection")
    write(folder / "pdf", BASES, ATTACKS)
    return read(folder / "pdf", folder / "artifacts")


@pytest.fixture(scope="module")
def ask(corpora) -> Ask:
    """The offline generator with its defaults over a corpus."""
    return lambda corpus, question: api.answer(question, searcher=Searcher(corpus, corpora.store))


@pytest.fixture(scope="module")
def clean(corpora, ask) -> dict[str, Answer]:
    corpus = corpora.clean(BASES)
    return {question.text: ask(corpus, question.text) for base in BASES for question in base.questions}


def what_changed(attack: Attack, corpora, ask: Ask, clean: dict[str, Answer]) -> tuple[str, ...]:
    corpus = corpora.poisoned(BASES, attack)
    questions = [question.text for question in asked(attack, BASES)]
    return tuple(found for text in questions for found in changes(attack, clean[text], ask(corpus, text)))


def test_clean_documents_are_answered_from_the_right_page(clean):
    """Advice in the imperative counts: a defence must not take it for an attack."""
    wrong = []
    for base in BASES:
        for question in base.questions:
            claims = clean[question.text].claims
            places = {(cited.doc_name, cited.page) for claim in claims for cited in claim.citations}
            said = any(question.answer in claim.text for claim in claims)
            if not said or (f"{base.name}.pdf", question.page) not in places:
                wrong.append((base.name, question.text, clean[question.text].text))
    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_attack_of_a_class_changes_claims_or_places(kind, corpora, ask, clean):
    attacks = [attack for attack in PROMISED if attack.kind == kind]
    found = [what_changed(attack, corpora, ask, clean) for attack in attacks]
    assert not any(found), fooled(attacks, found)
