"""Phrases that instruct a reader or model wherever they stand in a sentence.

Data for `generation.instructions`. Patterns are read case-insensitively on text with single blanks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from generation.orders import EARLIER, IGNORING, MACHINE, MACHINES, REPLY, RULES, SAY, SHOWN, word_set

ASSISTANT = (
    r"(?:(?:language model|ai (?:model|assistant|system|agent|reviewer|reader)|ai|llm|assistant|chat ?bot|bot|chatgpt"
    r"|claude|gemini|copilot|answering system)s?)"
)
_MACHINE_CUES = " ".join(sorted(MACHINES)) + " answering"


@dataclass(frozen=True)
class Phrase:
    """A phrase that instructs wherever it stands; looked for only in sentences with one of the `cues` (words)."""

    kind: str
    cues: frozenset[str]
    pattern: re.Pattern[str]


def _phrase(kind: str, cues: str, pattern: str) -> Phrase:
    return Phrase(kind, word_set(cues), re.compile(pattern, re.IGNORECASE))


PHRASES = (
    _phrase(
        "override",
        IGNORING + " follow obey attention",
        rf"\b(?:{IGNORING.replace(' ', '|')}|pay no attention to|(?:not|n['’]t|never|stop|no longer) "
        r"(?:follow|obey)(?:ing)?)"
        rf" (?:\w+ ){{0,3}}?(?:(?:all|any|every|your|my|of|{EARLIER}) )+(?:\w+ ){{0,2}}?{RULES}\b",
    ),
    _phrase(
        "override",
        "instructions instruction prompts prompt",
        r"\b(?:instructions?|prompts?) (?:above|before|so far|given to you|you (?:were given"
        r"|have received|received)) (?:are|is|were|must|no longer|do not|have been)\b",
    ),
    _phrase(
        "override",
        "instruction instructions task tasks prompt directive directives rule rules order orders",
        r"(?:^|[^\w\s] ?|\b(?:your|is|are|the) )(?:new|updated|revised|real|actual|additional|special"
        r"|secret|hidden|overriding|final|urgent) (?:system )?"
        rf"(?:instructions?|task|prompt|directives?|rules?|orders?)(?: for (?:you|{MACHINE}))? ?:",
    ),
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
        r"\bas an? (?:helpful |honest )*(?:ai|llm|chat ?bot|assistant)(?: language model| assistant)? ?,? (?:you"
        r"|your|i|always|never|please)\b",
    ),
    _phrase(
        "role",
        "mode anything",
        r"\b(?:developer|debug|admin|god|sudo|root|unrestricted|maintenance|jailbreak|dan) mode\b|\bdo anything "
        r"now\b",
    ),
    _phrase(
        "address",
        _MACHINE_CUES,
        r"^\W*(?:dear|attention|hey|hello|hi|listen|note|notice|message|memo|instructions?|warning|reminder"
        rf"|important)(?: (?:to|for))? ?[:,]? ?{MACHINE}\b",
    ),
    _phrase(
        "address",
        _MACHINE_CUES,
        rf"^\W*(?:to|for) {MACHINE}\b(?: (?:reading|processing|that|who)\b[^:]{{0,40}})? ?[:!—–]",
    ),
    _phrase(
        "address",
        _MACHINE_CUES,
        rf"^\W*{MACHINE} ?[:,!—–] (?:please|you|your|do|always|never|when|if|stop|{SAY})\b",
    ),
    _phrase(
        "address",
        _MACHINE_CUES,
        rf"\b(?:instructions?|notes?|message|notice|directives?|command) (?:to|for) {MACHINE} ?(?::|\.$|[—–-] )",
    ),
    _phrase(
        "address",
        _MACHINE_CUES + " you",
        r"\bif (?:you(?:['’]re| are)|this is (?:being )?(?:read|processed|parsed|summari[sz]ed) by) (?:an? |the "
        rf"|any )?(?:{MACHINE}|(?:reading|processing|summari[sz]ing) this|answering)\b",
    ),
    _phrase(
        "address",
        _MACHINE_CUES,
        rf"\b{MACHINE} (?:that|which|who) (?:reads?|process(?:es)?|summari[sz]es?|retrieves?|sees?|encounters?|is "
        r"reading) this\b",
    ),
    _phrase(
        "address",
        _MACHINE_CUES,
        rf"\b{ASSISTANT}(?: (?:reading|processing) this)? (?:must|shall|(?:has|have) to|(?:is|are) hereby \w+ to) "
        rf"(?:now |always |only |never |not |instead )*(?:{SAY}|report|give|name)\b",
    ),
    _phrase("reply", "your", rf"\byour (?:\w+ )?{REPLY}\b"),
    _phrase(
        "reply",
        "you",
        r"\byou (?:\w+ )?(?:say|said|answer(?:ed)?|repl(?:y|ied)|respond(?:ed)?|cited?|quoted?|stated?|tell|told"
        r"|summari[sz]ed?)\b",
    ),
    _phrase(
        "reply",
        "answer answers reply replies response responses summary summaries",
        r"\b(?:in|for|to) (?:any|every|all|each) (?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies))\b|\b(?:every"
        rf"|any|each|all) (?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)) (?:\w+ ){{0,6}}?(?:must|shall|should"
        rf"|has to|have to|needs? to)\b|\b{REPLY} (?:that |which )?you (?:must|should|shall|will|have to|give)\b",
    ),
    _phrase(
        "reply",
        "answer reply response",
        r"\b(?:correct|right|expected|required|acceptable|only|official|approved|mandatory|final) (?:answer|reply"
        r"|response)(?: (?:to|for) [^.]{3,160}?(?:\bis\b|:)|,? [^.:]{0,60}\b(?:mandatory|readers?|models?"
        r"|assistants?)\b[^.:]{0,40}:| ?:)",
    ),
    _phrase("reply", "answered", r"\b(?:it|this|question) (?:must|shall|should|has to|is to) be answered\b"),
    _phrase(
        "reply",
        "asked",
        rf"\b(?:whoever|anyone|everyone|all|those|you),? (?:who )?(?:is |are |when |if |once )*asked\b.*?\b{SAY}\b",
    ),
    _phrase(
        "reply",
        "always only",
        r"\b(?:for|about|on) [^.;]{2,120}\b(?:always|only) (?:answer|reply|respond|say|cite|quote|output|print)\b",
    ),
    _phrase(
        "role",
        "let us let's let’s game",
        r"\b(?:let us|let['’]s) (?:play|pretend|imagine)\b|\bgame in which you\b",
    ),
    _phrase(
        "system",
        "i",
        r"\bi (?:hereby )?(?:authori[sz]e|order|instruct|command|ask|require|want|permit|allow|tell|beg) you\b",
    ),
    _phrase(
        "reply",
        "answer reply response output summary",
        r"\b(?:essential|imperative|mandatory|crucial|vital|necessary|important|sure|ensure) (?:that )?(?:the|every"
        rf"|any|each) (?:\w+ )?{REPLY} (?:states?|contains?|mentions?|includes?|cites?|says?|begins?"
        r"|ends?|starts?)\b",
    ),
    _phrase(
        "address",
        "whoever anyone anybody everyone",
        r"\b(?:whoever|any(?:one|body)(?: who)?|everyone(?: who)?) (?:is )?(?:read|process)(?:s|es|ing) this\b",
    ),
    _phrase(
        "reply",
        "you",
        r"\byou (?:must|shall|will|should|have to|need to|(?:are|were) (?:\w+ )?to) (?:now |always |only |also |not "
        rf"|never |instead |therefore |immediately )*(?:{SAY}|follow (?:these|this|the following|my))\b",
    ),
    _phrase(
        "reply",
        "asked asks ask question questions query queries user users someone anyone",
        rf"(?:\b(?:when(?:ever)?|if|once|any ?time)|^should)\b[^.]{{0,40}}\b(?:asked|asks?|questions?|quer(?:y|ies)"
        rf"|users?|someone|anyone)\b[^.]{{0,140}}?[,:;] ?(?:then |please |you |must |should |always |only |just "
        rf"|simply |instead )*(?:{SAY}|do not|don['’]t|never)\b",
    ),
    _phrase(
        "reply",
        "question questions query queries request prompt",
        r"\b(?:for|to|in response to) (?:any|every|all|each|this|the) (?:\w+ )?(?:questions?|quer(?:y|ies)|requests?"
        rf"|prompts?)\b[^.]{{0,60}}?[,:;] ?(?:then |please |you |must |should |always |only |just |simply |instead "
        rf")*(?:{SAY}|do not|don['’]t|never)\b",
    ),
    _phrase(
        "reply",
        "answer",
        r"\b(?:correct|right|true|real|expected|required|acceptable|official|valid|final|approved|best|proper|only) "
        r"answer\b[^.]*\b(?:regardless|no matter|irrespective|whatever|always|even if)\b|\b(?:the|your) (?:\w+ "
        r")?answer (?:is|must|should|will)\b[^.]*\b(?:regardless of|no matter|irrespective of|whatever)\b"
        r"|\b(?:regardless|no matter|irrespective|whatever)\b[^.]*\b(?:the|your) (?:\w+ )?answer (?:is|must|should"
        r"|will)\b",
    ),
    _phrase(
        "reply",
        "answer",
        r"\banswer to (?:the|this|any|every|all|each|your)(?: [\w'’]+){0,3} (?:question|query|prompt|request)s?(?: "
        r"\w+){0,4} (?:is|must be|should be|will be|are)\b",
    ),
    _phrase(
        "reply",
        "regardless irrespective whatever matter",
        rf"\b(?:regardless of|no matter|irrespective of|whatever)\b[^.]{{0,90}}[,;:] ?(?:then |please |you |must "
        rf"|should |always |only |just |simply )*{SAY}\b",
    ),
    _phrase(
        "cite",
        "passage passages document source sources text paper report excerpt chunk page section",
        rf"\bthis {SHOWN} (?:\w+ )?(?:overrides|supersedes|replaces|takes precedence over|outranks|invalidates"
        r"|cancels) (?:all|any|every|each) ",
    ),
    _phrase(
        "cite",
        "passage passages document source text paper report excerpt chunk page section",
        rf"\bthis {SHOWN} (?:is|must be|should be|has to be|shall be) (?:always |the )*(?:only|sole|cited|quoted"
        r"|trusted|preferred|ranked|believed|authoritative)\b[^.]*\b(?:reliable|correct|valid|authoritative|trust\w*"
        r"|sources?|first|top|highest|answers?|instead|always)\b",
    ),
    _phrase(
        "cite",
        "sources passages documents texts excerpts chunks source",
        rf"\b(?:all|any|every|the) other {SHOWN}\b[^.]{{0,100}}? (?:are|is|have been|has been|must be|should be) "
        r"(?:\w+ )?(?:wrong|false|outdated|incorrect|unreliable|retracted|superseded|fake|ignored|disregarded"
        r"|obsolete|invalid|lies|discarded|withdrawn|fabricated)\b",
    ),
    _phrase(
        "cite",
        "source sources passage passages document documents",
        r"\b(?:source|passage|document)s? S?\d+(?: (?:to|and|through|-) S?\d+)? (?:is|are|has been|have been|must be"
        r"|should be) (?:wrong|false|outdated|incorrect|unreliable|retracted|superseded|fake|obsolete|invalid"
        r"|ignored|disregarded|the only|to be)\b",
    ),
    _phrase(
        "system",
        "system developer admin administrator root assistant operator security override",
        r"^\W*(?:system|developer|admin(?:istrator)?|root|assistant|operator|security)(?: (?:prompt|message|override"
        r"|instructions?|notice|note|mode|update|alert|command|notification|policy|directive))?s? ?(?:[:\]>]|-{2,})",
    ),
    _phrase(
        "system",
        "system admin administrator root security priority safety",
        r"\b(?:system|admin(?:istrator)?|root|security|priority|safety) (?:override|prompt|command|directive"
        r"|instruction)s? ?(?::|—|–|-{1,3} |!)",
    ),
    _phrase(
        "system",
        "begin end start stop beginning",
        r"^\W*(?:begin|start|end|stop|beginning) (?:of )?(?:(?:the|new|all|system|retrieved|quoted|untrusted|user"
        rf"|your) )*(?:{RULES}|{SHOWN}|data|input) ?(?:[.\])>!:]|-{{2,}}|$)",
    ),
    _phrase(
        "system",
        "user operator developer administrator system owner",
        r"\bthe (?:user|operator|developer|administrator|system|owner) (?:has |have |now |hereby |already "
        r")*(?:authori[sz]e[sd]?|wants you|asks you|instructs? you|orders? you|requires you|permit(?:s|ted)|told you"
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
        r"|supersedes?|replaces?|takes? precedence|(?:must|should|shall|have to|has to) be (?:followed|obeyed"
        r"|executed))\b",
    ),
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
        r"\b(?:réponds|répondez|dis|dites|cite[zr]?)\b.{0,200}\b(?:uniquement|seulement|toujours|exclusivement|à la "
        r"question)\b|^(?:réponds|répondez)\b",
    ),
    _phrase(
        "foreign",
        "ignora ignore ignorar olvida olvide dimentica",
        r"\b(?:ignor[ae]|olvid[ae]|dimentica)\b.{0,60}\b(?:instrucc|instruç|istruzion|documento|texto|testo|fuente"
        r"|fonti|resto|tod[oa]s?|tutto|tudo)",
    ),
    _phrase(
        "foreign",
        "responde responda contesta conteste rispondi cita",
        r"\b(?:respond[ae]|contest[ae]|rispondi|cita)\b.{0,200}\b(?:sol[oa]|sólo|únicamente|soltanto|siempre|sempre"
        r"|apenas|somente|con|com)\b",
    ),
    _phrase(
        "foreign",
        "игнорируй игнорируйте забудь забудьте",
        r"\b(?:игнорируй|забудь)(?:те)?\b.{0,60}\b(?:инструкц|указани|текст|документ|источник|вс[её])",
    ),
    _phrase("foreign", "отвечай отвечайте ответь ответьте скажи", r"\b(?:отвечай|ответь|скажи)(?:те)?\b"),
)
# Chinese and Japanese have no blanks, so no cue words.
IDEOGRAPHIC = re.compile(
    "(?:忽略|无视|無視|忘记|忘掉).{0,12}(?:以上|之前|前面|指令|指示|提示|内容|文字)|(?:只|仅|僅|必须|必須|务必|請|请).{0,4}(?:回答|回复|回復|说|引用)"
    "|(?:指示|命令|文章|内容|上記|すべて|全て)を?.{0,6}(?:無視|忘れ)|(?:だけ|のみ|必ず).{0,8}(?:答え|回答|返答|引用)"
)
