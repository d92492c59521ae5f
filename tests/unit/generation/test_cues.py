"""Sorts of questions and the wording that answers them, each beside wording that only looks like it."""

from __future__ import annotations

import pytest

from generation.cues import CUES

ASKING = {"reason": "Why is it so?", "advice": "Should I add ranks?", "comparison": "Ranks or norms?"}
OFFERING = {"reason": "It lost because of it.", "advice": "We recommend it.", "comparison": "It beats the norm."}
PLAIN = "Fusion adds the ranks of two lists."
OTHER = "How many lists are there in the corpus?"


@pytest.mark.parametrize(
    ("sort", "question", "asks"),
    [
        ("reason", "WHY does fusion fail?", True),
        *(
            ("reason", f"Tell me the {words} of long lists", True)
            for words in ("reason", "reasons", "cause", "causes")
        ),
        ("reason", "What explains the drop of fusion?", True),
        ("reason", "How does the report explain ties?", True),
        ("reason", "What went wrong with the norm?", True),
        ("reason", "What goes wrong in a stub?", True),
        ("reason", "What is causal search?", False),
        ("reason", "Is there causeless or explainable reasoning?", False),
        ("reason", "Does it fail because of treason?", False),
        ("reason", "What is the wrong norm?", False),
        ("advice", "Is fusion worth its cost?", True),
        ("advice", "Is a cache worthwhile?", True),
        ("advice", "What depth is recommended?", True),
        ("advice", "What do you recommend?", True),
        ("advice", "What is the best depth?", True),
        ("advice", "Which remedies are there?", True),
        ("advice", "What is the cure for ties?", True),
        ("advice", "Is a short list preferable?", True),
        ("advice", "What do you prefer?", True),
        *(("advice", f"Is it {words} to stop?", True) for words in ("all right", "ok", "fine", "wise", "safe")),
        *(("advice", f"Do {words} it?", True) for words in ("I need", "we need", "I have", "we have")),
        *(("advice", f"How {words} add ranks?", True) for words in ("can I", "do I", "should I", "can we")),
        *(("advice", f"Which of the lists may one {word}?", True) for word in ("use", "choose", "pick")),
        ("advice", "Is it safely known when to stop?", False),
        ("advice", "Do lists need a norm?", False),
        ("advice", "Do we needlessly add ranks?", False),
        ("advice", "How can indexes grow?", False),
        ("advice", "Which of the lists do users reuse?", False),
        ("advice", "Whichever we choose, how long is it?", False),
        ("advice", "What do lists use?", False),
        ("advice", "How secure is a recommender of bestiaries?", False),
        ("comparison", "Fusion versus norms", True),
        ("comparison", "FUSION VS NORMS", True),
        ("comparison", "How does fusion compare with norms?", True),
        ("comparison", "Is there a comparison of norms?", True),
        ("comparison", "Are ranks longer than norms?", True),
        ("comparison", "Is fusion better?", True),
        ("comparison", "How do ranks differ?", True),
        ("comparison", "What is the difference of ranks?", True),
        ("comparison", "What is the order for norms?", False),
        ("comparison", "What are different norms?", False),
        ("comparison", "Are ranks comparable?", False),
        ("comparison", "Thank whom?", False),
    ],
)
def test_what_a_question_asks_for(sort, question, asks):
    assert CUES[sort].speaks(question, OFFERING[sort]) is asks
    assert not CUES[sort].speaks(question, PLAIN)


@pytest.mark.parametrize(
    ("sort", "sentence", "offers"),
    [
        ("reason", "BECAUSE of ties, fusion fails.", True),
        ("reason", "Since ranks tie, fusion fails.", True),
        ("reason", "Fusion therefore fails.", True),
        ("reason", "Fusion fails due to ties.", True),
        ("reason", "As a result fusion fails.", True),
        ("reason", "Ranks tie, so that fusion fails.", True),
        ("reason", "Ranks tie and hence fusion fails.", True),
        ("reason", "Fusion fails owing to ties.", True),
        *(("reason", f"Failure that ties {word}", True) for word in ("cause", "caused", "make")),
        *(("reason", f"A tie {word} fusion fail.", True) for word in ("causes", "makes")),
        ("reason", "Its failure follows from Equation 2.", True),
        *(("reason", f"For {word} reason fusion fails.", True) for word in ("this", "that")),
        *(("reason", f"Ranks tie, and {word} is why fusion fails.", True) for word in ("that", "which")),
        ("reason", "The result is due.", False),
        ("reason", "Fusion follows the norm.", False),
        ("reason", "The causal norm is sincere henceforth.", False),
        ("reason", "Fusion remakes a list.", False),
        ("reason", "A list so long that it ends is a makeshift.", False),
        ("reason", "The reason is not known.", False),
        ("advice", "One should add ranks.", True),
        ("advice", "The list must be short.", True),
        ("advice", "Our advice is to stop.", True),
        ("advice", "We advise to stop.", True),
        ("advice", "We propose a stop.", True),
        ("advice", "We suggest a stop.", True),
        ("advice", "We prefer short lists.", True),
        ("advice", "Lists need not be long.", True),
        ("advice", "A cache is worth its price.", True),
        ("advice", "A stop is the right response.", True),
        ("advice", "It is better to stop.", True),
        ("advice", "Use short lists.", True),
        ("advice", "Users reuse the norm that was used.", False),
        ("advice", "The proposed list needs a musty recommender.", False),
        ("advice", "Fusion is better, and no right norm needs it.", False),
        ("comparison", "Ranks say more of a list.", True),
        ("comparison", "Norms are shorter than ranks.", True),
        ("comparison", "Norms do less.", True),
        ("comparison", "Norms are the better ones.", True),
        ("comparison", "Norms are worse.", True),
        ("comparison", "Recall is higher with ranks.", True),
        ("comparison", "Recall is lower with norms.", True),
        ("comparison", "Ranks reach .4 against .3.", True),
        ("comparison", "Ranks stay while norms grow.", True),
        ("comparison", "Ranks stay, whereas norms grow.", True),
        ("comparison", "Both are equal.", True),
        ("comparison", "Neither is ahead.", True),
        *(("comparison", f"They {word} it.", True) for word in ("beat", "lose", "gain", "fall")),
        *(("comparison", f"It {word} that.", True) for word in ("beats", "loses", "gains", "falls")),
        ("comparison", "Moreover, lessons on heartbeats bother us.", False),
        ("comparison", "Lowering or gaining is losing.", False),
        ("comparison", "Thanks to the norm, worth is a highway.", False),
    ],
)
def test_what_a_sentence_offers(sort, sentence, offers):
    assert CUES[sort].speaks(ASKING[sort], sentence) is offers
    assert not CUES[sort].speaks(OTHER, sentence)
