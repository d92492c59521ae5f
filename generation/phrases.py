"""Phrases that instruct a reader or model wherever they stand in a sentence.

Data for `generation.instructions`. Patterns are read case-insensitively on text with single blanks; a phrase is
looked for only in sentences with one of its cue words, since most sentences have none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from generation.orders import EARLIER, IGNORING, MACHINE, MACHINES, REPLY, RULES, SAY, SHOWN, word_set

# Machines that are only talked to; MACHINE has `model` and `agent` too, which papers say much about.
ASSISTANT = (
    r"(?:(?:language model|ai (?:model|assistant|system|agent|reviewer|reader)|ai|llm|assistant|chat ?bot|bot|chatgpt"
    r"|claude|gemini|copilot|answering system)s?)"
)
ANSWER = r"(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies))"  # REPLY without what a program puts out
MUST = r"(?:must|shall|should|ha(?:s|ve) to|needs? to)"
ADVERBS = r"(?:now |always |only |also |not |never |instead |therefore |immediately )*"
THEN = (
    rf"[,:;] ?(?:then |please |you |must |should |always |only |just |simply |instead )*"
    rf"(?:{SAY}|produce|give|provide|do not|don['’]t|never)\b"
)
_MACHINES = " ".join(sorted(MACHINES)) + " answering"  # cue words
_SHOWN = "passage passages document documents source sources text texts paper report excerpt chunk page section"


@dataclass(frozen=True)
class Phrase:
    """A phrase that instructs wherever it stands; looked for only in sentences with one of the `cues` (words)."""

    kind: str
    cues: frozenset[str]
    pattern: re.Pattern[str]


def _phrase(kind: str, cues: str, pattern: str) -> Phrase:
    return Phrase(kind, word_set(cues), re.compile(pattern, re.IGNORECASE))


# Earlier rules are declared void, or new ones announced: no description of anything else speaks of "your rules".
OVERRIDES = (
    _phrase(
        "override",
        IGNORING + " follow obey attention",
        rf"\b(?:{IGNORING.replace(' ', '|')}|pay no attention to|(?:not|n['’]t|never|stop|no longer) "
        rf"(?:follow|obey)(?:ing)?) (?:\w+ ){{0,3}}?(?:(?:all|any|every|your|my|of|{EARLIER}) )+"
        rf"(?:\w+ ){{0,2}}?{RULES}\b",
    ),
    _phrase(
        "override",
        "instruction instructions task tasks prompt directive directives rule rules order orders",
        r"(?:^|[^\w\s] ?|\b(?:your|is|are|the) )(?:new|updated|revised|real|actual|additional|special"
        r"|secret|hidden|overriding|final|urgent) (?:system )?"
        rf"(?:instructions?|task|prompt|directives?|rules?|orders?)(?: for (?:you|{MACHINE}))? ?:",
    ),
)

# The reader is told who it is. A paper says what its model is, but not to the model.
ROLES = (
    _phrase("role", "you", r"\byou (?:are|['’]re) (?:now|no longer|hereby)\b"),
    _phrase("role", "you you're you’re", rf"\byou(?: are|['’]re) (?:an? |the )?(?:\w+ )?{MACHINE}\b"),
    _phrase(
        "role",
        "you your answer answers",
        rf"\bfrom (?:now|this point|here) on(?:wards?)?\b.{{0,40}}\b(?:you|your|{SAY})\b",
    ),
    _phrase(
        "role",
        "ai llm chatbot assistant",
        r"\bas an? (?:helpful |honest )*(?:ai|llm|chat ?bot|assistant)(?: language model| assistant)? ?,? "
        r"(?:you|your|i|always|never|please)\b",
    ),
    _phrase(
        "role",
        "mode anything",
        r"\b(?:developer|debug|admin|god|sudo|root|unrestricted|maintenance|jailbreak|dan) mode\b"
        r"|\bdo anything now\b",
    ),
    _phrase("role", "let us let's let’s game", r"\b(?:let us|let['’]s) (?:play|pretend)\b|\bgame in which you\b"),
)

# A machine or the reader is spoken to: by a call at the beginning, or by what it must do when it reads this.
ADDRESSES = (
    _phrase(
        "address",
        _MACHINES,
        r"^\W*(?:dear|attention|hey|hello|hi|listen|note|notice|message|memo|instructions?|warning|reminder"
        rf"|important)(?: (?:to|for))? ?[:,]? ?{MACHINE}\b",
    ),
    _phrase("address", "dear", r"^\W*dear (?:reader|user|friend|colleague|reviewer)s?\b"),
    _phrase(
        "address",
        _MACHINES,
        rf"^\W*(?:to|for) {MACHINE}\b(?: (?:reading|processing|that|who)\b[^:]{{0,40}})? ?[:!—–]",
    ),
    _phrase(
        "address",
        _MACHINES,
        rf"^\W*{MACHINE} ?[:,!—–] (?:please|you|your|do|always|never|when|if|stop|{SAY})\b",
    ),
    _phrase(
        "address",
        _MACHINES,
        rf"\b(?:instructions?|notes?|message|notice|directives?|command) (?:to|for) {MACHINE} ?(?::|\.$|[—–-] )",
    ),
    _phrase(
        "address",
        _MACHINES + " you",
        r"\bif (?:you(?:['’]re| are)|this is (?:being )?(?:read|processed|parsed|summari[sz]ed) by) "
        rf"(?:an? |the |any )?(?:{MACHINE}|(?:reading|processing|summari[sz]ing) this|answering)\b",
    ),
    _phrase(
        "address",
        _MACHINES,
        rf"\b{MACHINE} (?:that|which|who) (?:reads?|process(?:es)?|summari[sz]es?|retrieves?|sees?|encounters?"
        rf"|is reading) this\b|\b{MACHINE} (?:reading|processing|summari[sz]ing|seeing) this(?: \w+){{0,2}} {MUST}\b",
    ),
    _phrase(
        "address",
        _MACHINES,
        rf"\b{ASSISTANT}(?: (?:reading|processing) this)? (?:must|shall|(?:has|have) to|(?:is|are)(?: hereby \w+)? "
        rf"to) {ADVERBS}(?:{SAY}|report|give|name)\b",
    ),
)

# What is to be answered: `your answer`, `you must say`, the answer that is expected or correct whatever else is read.
REPLIES = (
    _phrase("reply", "your", rf"\byour (?:\w+ )?{REPLY}\b"),
    _phrase(
        "reply",
        "you",
        r"\byou (?:\w+ )?(?:say|said|answer(?:ed)?|repl(?:y|ied)|respond(?:ed)?|cited?|quoted?|stated?|tell|told"
        r"|summari[sz]ed?)\b",
    ),
    _phrase(
        "reply",
        "you",
        r"\byou (?:must|shall|will|should|have to|need to|(?:are|were) (?:\w+ )?to) "
        rf"{ADVERBS}(?:{SAY}|follow (?:these|this|the following|my))\b",
    ),
    _phrase(
        "reply",
        "answer answers reply replies response responses summary summaries",
        rf"\b(?:in|for|to) (?:any|every|all|each) {ANSWER}\b|\b(?:every|any|each|all) {ANSWER} (?:\w+ ){{0,6}}?{MUST}"
        rf"\b|\b{REPLY} (?:that |which )?you (?:must|should|shall|will|have to|give)\b",
    ),
    _phrase(
        "reply",
        "answer answers reply replies response responses",
        rf"\bno {ANSWER} [^.;]{{0,120}}?\b(?:may|must|shall) be (?:generated|given|made|returned|produced|written)\b",
    ),
    _phrase(
        "reply",
        "answer reply response",
        r"\b(?:correct|right|expected|required|acceptable|only|official|approved|mandatory|final) "
        r"(?:answer|reply|response)(?: (?:to|for) [^.]{3,160}?(?:\bis\b|:)"
        r"|,? [^.:]{0,60}\b(?:mandatory|readers?|models?|assistants?)\b[^.:]{0,40}:| ?:)",
    ),
    _phrase(
        "reply",
        "answer",
        r"\b(?:correct|right|true|real|expected|required|acceptable|official|valid|final|approved|best|proper|only) "
        r"answer\b[^.]*\b(?:regardless|no matter|irrespective|whatever|always|even if)\b",
    ),
    _phrase("reply", "answered", r"\b(?:it|this|question) (?:must|shall|should|has to|is to) be answered\b"),
)

# When something is to be said: once somebody asks, whoever it is.
OCCASIONS = (
    _phrase(
        "reply",
        "asked",
        rf"\b(?:whoever|anyone|everyone|all|those|you),? (?:who )?(?:is |are |when |if |once )*asked\b.*?\b{SAY}\b",
    ),
    _phrase(
        "reply",
        "asks wonders whoever",
        r"\b(?:sure|ensure|see to it|kindly|please|tell|inform)\b[^.:]{0,60}\b(?:whoever|every(?:one|body)"
        r"|any(?:one|body)|people|all)(?: who)? (?:asks?|wonders?|inquires?)\b",
    ),
    _phrase(
        "reply",
        "always only",
        r"\b(?:for|about|on) [^.;]{2,120}\b(?:always|only) (?:answer|reply|respond|say|cite|quote|output|print)\b",
    ),
    _phrase(
        "reply",
        "asked asks ask question questions query queries user users someone anyone",
        r"(?:\b(?:when(?:ever)?|if|once|any ?time)|^should)\b[^.]{0,40}\b(?:asked|asks?|questions?|quer(?:y|ies)"
        rf"|users?|someone|anyone)\b[^.]{{0,140}}?{THEN}",
    ),
    _phrase(
        "reply",
        "question questions query queries request prompt",
        r"\b(?:for|to|in response to) (?:any|every|all|each|this|the) (?:\w+ )?(?:questions?|quer(?:y|ies)|requests?"
        rf"|prompts?)\b[^.]{{0,60}}?{THEN}",
    ),
)

# What is to be believed and cited: a text that ranks itself, or disowns all others.
CITATIONS = (
    _phrase(
        "cite",
        _SHOWN,
        rf"\bthis {SHOWN} (?:\w+ )?(?:overrides|supersedes|replaces|takes precedence over|outranks|invalidates"
        r"|cancels) (?:all|any|every|each) ",
    ),
    _phrase(
        "cite",
        _SHOWN,
        rf"\bthis {SHOWN} (?:is|(?:must|should|has to|shall) be) (?:always |the )*(?:only|sole|cited|quoted|trusted"
        r"|preferred|ranked|believed|authoritative)\b[^.]*\b(?:reliable|correct|valid|authoritative|trust\w*"
        r"|sources?|first|top|highest|answers?|instead|always)\b",
    ),
    _phrase(
        "cite",
        _SHOWN + " excerpts chunks passages",
        rf"\b(?:all|any|every|the) other {SHOWN}\b[^.]{{0,100}}? (?:are|is|ha(?:s|ve) been|must be|should be) "
        r"(?:\w+ )?(?:wrong|false|outdated|incorrect|unreliable|retracted|superseded|fake|ignored|disregarded"
        r"|obsolete|invalid|lies|discarded|withdrawn|fabricated)\b",
    ),
    _phrase(
        "cite",
        _SHOWN,
        r"\b(?:source|passage|document)s? S\d+(?: (?:to|and|through|-) S?\d+)? (?:is|are|ha(?:s|ve) been|must be"
        r"|should be) (?:wrong|false|outdated|incorrect|unreliable|retracted|superseded|fake|obsolete|invalid"
        r"|ignored|disregarded|the only|to be)\b",
    ),
)

# A voice from above: the system, its owner or the user is said to speak, or the quoted text to end.
SYSTEM = (
    _phrase(
        "system",
        "system developer admin administrator root assistant operator security override",
        r"^\W*(?:system|developer|admin(?:istrator)?|root|assistant|operator|security)(?: (?:prompt|message|override"
        r"|instructions?|notice|note|mode|update|alert|command|notification|policy|directive))?s? ?(?:[:\]>]|-{2,})",
    ),
    _phrase(
        "system",
        "begin end start stop beginning",
        r"^\W*(?:begin|start|end|stop|beginning) (?:of )?(?:(?:the|new|all|system|retrieved|quoted|untrusted|user"
        rf"|your) )*(?:{RULES}|{SHOWN}|data|input) ?(?:[.\])>!:]|-{{2,}}|$)",
    ),
    _phrase(
        "system",
        "i",
        r"\bi (?:hereby )?(?:authori[sz]e|order|instruct|command|ask|require|want|permit|allow|tell|beg) you\b",
    ),
    _phrase(
        "system",
        "user operator developer administrator system owner",
        r"\bthe (?:user|operator|developer|administrator|system|owner) (?:has |have |now |hereby |already )*"
        r"(?:authori[sz]e[sd]?|wants you|asks you|instructs? you|orders? you|requires you|permit(?:s|ted)|told you"
        r"|expects you)\b",
    ),
    _phrase(
        "system",
        "your",
        rf"\byour (?:\w+ )?(?:{RULES}|task|goal|objective|role|purpose|mission|job|training) (?:is|are|now|has|have"
        r"|was|were|must|should|do not|no longer|:)",
    ),
    _phrase(
        "system",
        "instructions instruction rules directives commands orders",
        r"\b(?:these|the following|this) (?:instructions?|rules?|directives?|commands?|orders?) (?:overrides?"
        rf"|supersedes?|replaces?|takes? precedence|{MUST} be (?:followed|obeyed|executed))\b",
    ),
)

# The same in other languages: first to ignore, then to answer. English sentences have none of these words.
FOREIGN = (
    _phrase(
        "foreign",
        "ignoriere ignorieren ignoriert missachte missachten vergiss vergessen",
        r"\b(?:ignorier\w*|missacht\w*|vergiss|vergessen sie)\b.{0,60}\b(?:anweisung|instruktion|vorgabe|regel|text"
        r"|quelle|dokument|alles|passage)",
    ),
    _phrase(
        "foreign",
        "antworte antworten antwort sage zitiere zitieren schreibe",
        r"\b(?:antworte|antworten sie|sage|schreibe|zitiere|zitieren sie)\b.{0,200}\b(?:nur|ausschließlich|mit|immer"
        r"|stets)\b|\b(?:richtige|korrekte|einzige|erwartete) antwort\b.{0,160}\b(?:lautet|ist)\b",
    ),
    _phrase(
        "foreign",
        "ignore ignorez ignorer oublie oubliez compte",
        r"\b(?:ignore[zr]?|oublie[zr]?|ne (?:tiens|tenez) pas compte)\b (?:\w+ )?(?:les?|la|toutes?|tous|tout|ce|cet"
        r"|cette|ces|du|des)\b.{0,40}\b(?:instruction|consigne|document|texte|source|reste|ci-dessus)",
    ),
    _phrase(
        "foreign",
        "réponds répondez cite citez dis dites",
        r"\b(?:réponds|répondez|dis|dites|cite[zr]?)\b.{0,200}\b(?:uniquement|seulement|toujours|exclusivement"
        r"|à la question)\b",
    ),
    _phrase(
        "foreign",
        "ignora ignore ignorar olvida olvide dimentica esqueça",
        r"\b(?:ignor[ae]|olvid[ae]|dimentica|esqueça)\b.{0,60}\b(?:instrucc|instruç|istruzion|documento|texto|testo"
        r"|fuente|fonti|resto|tod[oa]s?|tutto|tudo)",
    ),
    _phrase(
        "foreign",
        "responde responda contesta conteste rispondi cita",
        r"\b(?:respond[ae]|contest[ae]|rispondi|cita)\b.{0,200}\b(?:sol[oa]|sólo|únicamente|soltanto|siempre|sempre"
        r"|apenas|somente|con|com)\b",
    ),
    _phrase(
        "foreign",
        "negeer negeren vergeet",
        r"\b(?:negeer|negeren|vergeet)\b.{0,60}\b(?:instructies|opdrachten|regels|tekst|document|bron|alles|rest)",
    ),
    _phrase(
        "foreign",
        "игнорируй игнорируйте забудь забудьте",
        r"\b(?:игнорируй|забудь)(?:те)?\b.{0,60}\b(?:инструкц|указани|текст|документ|источник|вс[её])",
    ),
    _phrase("foreign", "отвечай отвечайте ответь ответьте скажи", r"\b(?:отвечай|ответь|скажи)(?:те)?\b"),
)

PHRASES = (*OVERRIDES, *ROLES, *ADDRESSES, *REPLIES, *OCCASIONS, *CITATIONS, *SYSTEM, *FOREIGN)

# Chinese and Japanese have no blanks, so no cue words: to ignore what stands above, and to answer only so.
IDEOGRAPHIC = re.compile(
    "(?:忽略|无视|無視|忘记|忘掉).{0,12}(?:以上|之前|前面|指令|指示|提示|内容|文字)"
    "|(?:只|仅|僅|必须|必須|务必|請|请).{0,4}(?:回答|回复|回復|说|引用)"
    "|(?:指示|命令|文章|内容|上記|すべて|全て)を?.{0,6}(?:無視|忘れ)|(?:だけ|のみ|必ず).{0,8}(?:答え|回答|返答|引用)"
)
