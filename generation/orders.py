"""Verbs that order and what they order: imperatives that tell a reader or model how to answer.

Data for `generation.instructions`. Patterns are read case-insensitively on text with single blanks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


MACHINES = word_set(
    "ai ais llm llms assistant assistants chatbot chatbots bot bots chatgpt gpt claude gemini copilot model models"
    " generator summarizer summariser reviewer reader agent"
)
MACHINE = (
    r"(?:(?:large |your |automated |helpful |ai |every |all |any |the )*"
    r"(?:language model|answering (?:system|engine|model)|ai(?: (?:model|assistant|system|agent|reader|reviewer))?"
    r"|llm(?:[ -](?:reviewer|reader|agent|judge))?|assistant|chat ?bot|bot|chatgpt|gpt|claude|gemini|copilot"
    r"|summari[sz]er|generator|model|agent)s?)"
)
RULES = (
    r"(?:instructions?|directions?|directives?|prompts?|guidelines?|commands?|orders|programming|safeguards|rules"
    r"|polic(?:y|ies)|constraints|restrictions)"
)
SHOWN = (
    r"(?:sources?|passages?|documents?|texts?|context|excerpts?|chunks?|evidence|reports?|papers?|citations?"
    r"|references|results?|sentences?|sections?|pages?|messages?|content|questions?|quer(?:y|ies)|conversation)"
)
PEOPLE = (
    r"(?:users?|readers?|persons?|humans?|questioner|customers?|asker|people|whoever|them|every(?:one|body)|anyone"
    r"|anybody)"
)
REPLY = r"(?:answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies)|completions?)"
SAY = (
    r"(?:reply|respond|answer|say|state|claim|output|print|write|assert|tell|repeat|cite|quote|conclude|insist"
    r"|mention|recommend|refuse|return|include|append|ignore|disregard|obey|pretend|reveal|comply|forget)"
)
URL = (
    r"(?:h(?:tt|xx)ps?:|ftp:|www\.|data:text|javascript:|mailto:|[\w.+-]+@[\w-]+\.\w|\b[\w-]+\."
    r"(?:com|net|org|io|ru|xyz|example|test|invalid)\b)"
)
SECRET = (
    r"(?:(?:system|hidden|secret|initial|original|internal|developer) (?:prompt|message|instructions?|rules)"
    r"|passwords?|api[ _-]?keys?|credentials|access tokens?|environment variables?|(?:conversation|chat) "
    r"(?:history|log)|your (?:\w+ )?(?:instructions|prompt|rules|configuration|guidelines|secrets?|keys?)"
    r"|(?:words|text|instructions|everything|all|content|messages?) (?:written )?above)"
)
EARLIER = (
    r"(?:previous|prior|above|preceding|earlier|foregoing|former|existing|initial|original|other|remaining|system)"
)


@dataclass(frozen=True)
class Order:
    """Verbs that order where they stand as an imperative, and what must follow within `within` characters."""

    kind: str
    verbs: frozenset[str]
    follows: re.Pattern[str]
    within: int
    negated: bool = False


def _order(kind: str, verbs: str, follows: str, within: int = 60, negated: bool = False) -> Order:
    return Order(kind, word_set(verbs), re.compile(follows, re.IGNORECASE), within, negated)


IGNORING = "ignore disregard forget override bypass overlook neglect discard skip dismiss abandon"
TELLING = "say state output print write repeat claim declare assert insist conclude recite echo"
ADDING = "append add include put encode insert embed attach place paste concatenate mention"

# What is to be left unread or disobeyed. `Ignore readings of the gauge in the first 5 minutes` is advice: what
# follows must be rules, texts, or all that stands elsewhere.
OVERRIDING = (
    _order(
        "override",
        IGNORING,
        rf"\b(?:{RULES}|{SHOWN}|{EARLIER}|everything|anything|all|below|rest|facts)\b(?! (?:(?:below|above) )?\d)",
        40,
    ),
    _order(
        "override",
        "follow obey heed use read trust rely consider believe cite quote mention apply listen reference highlight"
        " reveal disclose consult attribute answer respond reply summarize summarise process tell",
        rf"^(?: (?:on|to|from|any|the|all|of|other|these|those|this|your|a|rest|{EARLIER}))*"
        rf" (?:{RULES}|{SHOWN}|S\d+|user|reader|negatives?|weaknesses|anything|this|them|it)\b",
        negated=True,
    ),
)

# What is to be said, to whom, or that nothing is to be said. `Answer 20 questions` alone is no order to a reader.
REPLYING = (
    _order(
        "reply",
        "reply respond answer",
        r"^ (?:to (?:this|the|every|any|all)\b[^.,;:]{0,50})? ?(?:(?:only|exactly|solely|just|simply|always|instead"
        r"|with|that|by|as follows|in|yes|no|nothing)\b|[\"“‘«„'`:])|^ (?:to |the question )*[\"“‘«„'`]",
    ),
    _order(
        "reply",
        TELLING,
        r"^ ?(?:only|exactly|simply|just|instead|nothing|that|the (?:following|words?|phrase|sentence|string)"
        r"|verbatim|[\"“‘'`])",
    ),
    _order(
        "reply",
        "begin start end finish conclude preface prefix sign open close",
        rf"^ (?:\w+ )?(?:your|every|each|any|all|this|the) (?:\w+ )?{REPLY}\b",
    ),
    _order(
        "reply",
        "tell inform convince advise assure persuade instruct ask remind warn urge direct refer send",
        rf"^ (?:(?:the|your|any|every|all|this) )*{PEOPLE}\b",
    ),
    _order("reply", "show display return present give pass report", rf"\bto (?:(?:the|every|any|all) )?{PEOPLE}\b"),
    _order(
        "reply",
        "give write provide output return submit recommend",
        r"^ (?:\w+ ){0,3}(?:positive|favou?rable|glowing|perfect|highest) (?:review|score|rating|grade)"
        r"|^ accept(?:ing|ance)?\b",
    ),
    _order("reply", "stop cease", r"^ (?:reading|processing|answering|here|summari[sz]ing)\b"),
    _order(
        "reply",
        "refuse decline",
        r"^ (?:\w+ly )?(?:to (?:answer|respond|reply|help)|all|any|every|if|when(?:ever)?)\b",
    ),
)

# Who is to be played.
ROLE_PLAYING = (
    _order(
        "role", "act behave respond answer reply speak pose", r"^ (?:now )?(?:as|like) (?:if|though|an?|the|my)\b"
    ),
    _order("role", "pretend", r"^ (?:now )?(?:that|to|you(?:['’]re| are))\b"),
)

# Which text is to be cited, under which name, and how it is to be ranked.
CITING = (
    _order(
        "cite",
        "cite quote credit reference attribute trust use prefer believe consult follow rely treat consider",
        rf"^ (?:on |only |solely |exclusively )*(?:only|solely|exclusively|S\d+|this|these)\b.*?\b(?:S\d+|{SHOWN})\b",
    ),
    _order(
        "cite",
        "cite quote credit reference list name use give",
        r"\bas (?:the |its |your |a )?(?:only|sole|single) (?:references?|sources?|citations?|evidence)\b",
        100,
    ),
    _order(
        "cite",
        "attribute credit ascribe",
        r"^ (?:all|every|any|each|these|this) (?:\w+ )?(?:statements?|claims?|answers?|facts?|findings?|values?"
        r"|figures?|information)\b.*?\bto\b",
        120,
    ),
    _order("cite", "cite quote name mention use", r"\binstead\b", 80),
    _order(
        "cite",
        "rank place put score rate grade retrieve prioritize prioritise boost promote judge mark label treat",
        rf"^ (?:this|these) {SHOWN}\b",
    ),
)

# Where something is to be sent, loaded or linked to, and which tools are to be called.
SENDING = (
    _order(
        "link",
        "visit go click follow browse navigate fetch send submit forward append include add embed insert attach"
        " transmit upload render redirect refer link direct point tell encode put",
        URL,
        140,
    ),
    _order(
        "link",
        "open load call request post display show write ping query get report",
        rf"^ (?:(?:to|at|from|us|me) )*(?:the (?:page|link|url|site|website|image|address)\b.{{0,40}}?)?{URL}",
        140,
    ),
    _order(
        "link",
        ADDING,
        r"\b(?:to|in|into|as|at the end of|after|inside|with|of) (?:(?:the|a|your|this|every|each|any|its) )*"
        rf"(?:urls?|links?|query string|web address|{REPLY}|request|parameters?)\b",
        100,
    ),
    _order(
        "link",
        "send transmit forward email e-mail post upload leak exfiltrate submit copy",
        rf"^ (?:back |me |us )*(?:the|your|all|this|any|every|a copy of)\b.*?\b(?:{SHOWN}|{REPLY}"
        r"|prompt|history|keys?|chat)\b.*?\bto\b",
        90,
    ),
    _order("system", "call invoke execute trigger", r"^ (?:the )?[\w.-]+ (?:tool|function|plugin)\b"),
)

# What is to be given away: prompts, keys, the conversation.
REVEALING = (
    _order(
        "secret",
        "reveal print show output repeat leak disclose tell send display return give expose share include dump copy"
        " translate summarize summarise list echo write state quote divulge",
        SECRET,
        80,
    ),
)

ORDERS = (*OVERRIDING, *REPLYING, *ROLE_PLAYING, *CITING, *SENDING, *REVEALING)
