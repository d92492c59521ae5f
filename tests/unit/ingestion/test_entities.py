"""Which words become entities, and which never do."""

from __future__ import annotations

import pytest

from ingestion.entities import EntitySpec, extract
from ingestion.linking import Linker, linked
from ingestion.tokens import Words

PAPER = [
    "We train a support vector machine (SVM) with a Gaussian kernel. The kernel width is tuned for each data set.",
    "The random forest beats the SVM on the data set. A random forest needs no kernel width, as Figure 3 shows.",
    "In January 2019 Smith et al. (2019) compared SVMs with the random forests of Jones [12] at Yale University.",
    "PyTorch runs the random forest. We use PyTorch for the Kernel Width Rule, and the Kernel Width Rule is kept.",
    "Such a rule of the kernel width follows the width of a rule. We thank Yale University for 42 machines.",
    "Multi-agent games are hard. The multi-agent game of a robot is harder. Then the multiagent games are done.",
    "We end with multi-agent games.",
]  # fmt: skip


@pytest.fixture(scope="module")
def found():
    entities, _ = extract(PAPER, ["a"] * 3 + ["b"] * 4, EntitySpec(max_share=1.0))
    return {entity.label: entity for entity in entities}


def test_kinds_and_labels(found):
    assert {label: entity.kind for label, entity in found.items()} == {
        "support vector machine (SVM)": "acronym",
        "PyTorch": "coined",
        "Kernel Width Rule": "name",
        "kernel width": "phrase",
        "random forest": "phrase",
        "multi-agent game": "phrase",
    }


def test_an_acronym_and_its_expansion_are_one_node_and_so_are_their_plurals(found):
    linker = Linker(tuple(entity.forms for entity in found.values()))
    spelled = ["SVM", "SVMs", "svm", "support vector machine", "Support Vector Machines", "support-vector machines"]
    rows, nodes = linked(linker, spelled)
    assert rows.tolist() == list(range(len(spelled)))
    assert {list(found)[node] for node in nodes} == {"support vector machine (SVM)"}


def test_hyphens_make_no_difference(found):
    linker = Linker(tuple(entity.forms for entity in found.values()))
    rows, nodes = linked(linker, ["multi-agent games", "multi agent game", "the multiagent game"])
    assert rows.tolist() == [0, 1, 2]
    assert len(set(nodes.tolist())) == 1


def test_what_is_never_a_node(found):
    words = {word.lower() for label in found for word in label.replace("(", " ").replace(")", " ").split()}
    assert not words & {
        "figure",
        "3",
        "january",
        "2019",
        "smith",
        "jones",
        "12",
        "university",
        "yale",
        "42",
        "the",
        "of",
    }


def test_an_entity_needs_sentences_not_copies():
    text = "The decision stump is shown. It is the decision stump again."
    once = ["The decision stump is shown."]
    assert not extract(once * 9, ["a"] * 9, EntitySpec(max_share=1.0))[0]  # one sentence in nine overlapping chunks
    third = "A decision stump is small."
    assert [e.label for e in extract([text, third], ["a"] * 2, EntitySpec(max_share=1.0))[0]] == ["decision stump"]


def test_a_phrase_of_every_document_is_not_rare():
    texts = [
        f"The error rate is {n}. An error rate of {n} is low. We plot the error rate of run {n}." for n in range(9)
    ]
    documents = [str(n) for n in range(9)]
    assert [e.label for e in extract(texts, documents, EntitySpec(max_share=1.0))[0]] == ["error rate"]
    assert not extract(texts, documents, EntitySpec(max_share=0.3))[0]


def test_entities_do_not_depend_on_the_order_of_texts(found):
    turned, _ = extract(PAPER[::-1], (["a"] * 3 + ["b"] * 4)[::-1], EntitySpec(max_share=1.0))
    assert sorted(e.forms for e in turned) == sorted(e.forms for e in found.values())


def test_nothing_gives_nothing():
    assert extract([], [], EntitySpec())[0] == []
    assert extract(["", " . "], ["a", "b"], EntitySpec())[0] == []


def test_the_longest_form_is_found_and_marks_end_it():
    linker = Linker(((("kernel",),), (("kernel", "width"),), (("width", "rule"),)))
    rows, nodes = linked(linker, ["the kernel width rule", "kernel, width rule", "kernel. Width", "kernel-width"])
    assert list(zip(rows.tolist(), nodes.tolist(), strict=True)) == [(0, 1), (1, 0), (1, 2), (2, 0), (3, 1)]
    assert len(linker.link(Words.of([])).node) == 0
