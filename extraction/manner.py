"""How a sentence is said: asked, on a condition, ordered, denied, or only agreed to.

It knows words of the languages people chat in and no reference, no value and no message. Where it errs
it errs towards "not simply stated": whoever asks here is about to believe somebody.

Everything is asked about `plain` text (extraction/markup.py), in lower case.
"""

import re

# A piece of code or an address before the verb is what the sentence is about.
_LEAD = r"(?:[^\w\ue000\ue001]|_)*(?:(?:so|ok|okay|and|but|well|hey|also|und|aber|also|y|pero|et|mais)\b[\s,:]*){0,2}"

# Words that open a question wherever it ends in a question mark …
_ASKS = re.compile(
    _LEAD
    + r"(?:(?:is|are|was|were|do|does|did|has|have|had|should|shall|can|could|would|will|may|might|any"
    r"|who|whose|what|when|where|which|why|how|isn't|aren't|wasn't|don't|doesn't|didn't|hasn't|shouldn't"
    r"|ist|sind|war|hat|haben|soll|sollen|kann|kannst|können|wird|wer|was|wann|wo|warum|wie|ob"
    r"|est-ce|qui|quand|pourquoi|comment|cuándo|qué|quién|cómo)(?!\w)|¿)"
)
# … and those that open one without it, before something that can be asked about.
_TURNED = re.compile(
    _LEAD
    + r"(?:is|are|was|were|does|did|has|have|should|shall|can|could|would|will|isn't|wasn't|hasn't"
    r"|ist|sind|war|hat|wurde|soll|sollen|kann|wird)"
    r"\s+(?:the|this|that|it|he|she|we|they|you|i|there|our|your|my|a|an|der|die|das|es|er|sie|wir|ihr|unser"
    r"|[\w-]*[^\W_][-_][0-9]+|\#[0-9]+)(?![\w-])"
    + r"|"
    + _LEAD
    + r"(?:do\s+(?:we|you|they|i)|(?:how|what)\s+(?:about|if)|why\s+(?:don't|not)|was\s+ist\s+mit|wie\s+wäre)(?!\w)"
    r"|(?:[^.!?]{0,40}(?<!\w))?(?:(?:not|never)\s+sure|wonder(?:ing)?|no\s+idea|unclear|don't\s+know|asking|asked|frage\s+mich)"
    r"\s*,?\s+(?:if|whether|ob)(?!\w)"
    r"|[\W_]*(?:whether|ob)\s"
)
_CONDITION = re.compile(
    _LEAD
    # "in case you missed it: …" is a way to begin.
    + r"(?!(?:in\s+case|if)\s+(?:you|anyone|anybody|someone|somebody|people)(?:'re|\s+are|\s+is|\s+were)?\s+"
    r"(?:miss|did\s?n|have\s?n|has\s?n|wonder|ask|care|curious|interested))"
    r"(?:if|unless|in\s+case|in\s+the\s+event|assuming|supposing|suppose|provided|once(?!\s+(?:again|more))"
    r"|as\s+soon\s+as|falls|wenn|sobald|sofern|angenommen|vorausgesetzt|es\s+sei\s+denn|si|cuando|en\s+caso"
    r"|au\s+cas|dès\s+que|à\s+condition|se|만약|만일|もし|如果|要是|假如|万一)(?=[\s,\u2e80-\uffff])"
)
# A request that closes a sentence: "5 then, can you book it?"
_REQUEST = re.compile(
    r"\s*(?:can|could|would|will|who|what|when|where|how|which|do|does|did|kannst|könnt|könntest|wer|wann|wie"
    r"|puedes|podrías|peux|pourrais)\s+(?!it\b|that\b|this\b)\w+\s+\w"
    r"|\s*(?!(?:is|was|are|does|did|do|has|will|would|can|could|should)(?:n't)?\s)[a-z]+\s+(?:it|them|him|her|us|me)\s*$"
)
_PART = re.compile(r"[,;:.!?()\[\]\n]+|\s[—–-]{1,3}\s|[。、，；：！？]")
_QUESTION_MARKS = ("?", "？", "؟")

_ORDER = re.compile(
    r"(?<!\w)(?:ignore|disregard|forget|override)\s+(?:(?:all|any|of|the|my|your|these|those|every|everything)\s+){0,3}"
    r"(?:above|previous|prior|preceding|earlier|instructions?|rules?|prompts?|everything)(?!\w)"
    r"|(?<!\w)(?:ignoriere|vergiss|ignora|olvida|ignore[zr]?|oublie[zr]?)\s+(?:\w+\s+){0,3}"
    r"(?:anweisung\w*|obige\w*|vorherige\w*|bisherige\w*|instruc\w+|anterior\w*|précédent\w*|consigne\w*)"
    r"|(?<!\w)(?:you|assistant|the\s+bot|bot|system)\s+(?:must|should|shall|have\s+to|need\s+to|are\s+to|will)\s+(?:now\s+|also\s+|only\s+)*"
    r"(?:note|record|remember|log|store|save|ignore|pretend|say|answer|reply|report|output|mark|treat|believe|assume)(?!\w)"
    r"|(?:^|[.,;:!?(\n—–-]|(?<!\w)(?:and|then|now|please|pls|just|must|und|bitte|y|et))\s*"
    r"(?:record|log|store|save|register|pretend|output|memori[sz]e)\s+"
    r"(?:in\s+(?:your|the)\s+\w+\s+)?(?:that(?!\s*[.!?]?$)|this\s+as|it\s+as|as|decision|:|the\s+(?:following|decision))"
    r"|(?<!\w)pretend\s+(?:that|to|we|i|it|you|as)(?!\w)"
    r"|(?<!\w)as\s+(?:the|a|an|your)\s+(?:system|assistant|administrator|admin|operator|developer|ai)(?!\w)"
    r"|^[\W_]*(?:system|assistant|developer)\s*(?:prompt|message|note)?\s*:"
    r"|(?<!\w)(?:notiere|vermerke|speichere|trage\s+ein)\s*,?\s+dass(?!\w)|(?<!\w)(?:registra|anota|guarda)\s+que(?!\w)"
    r"|(?<!\w)(?:enregistre|note|notez)\s+que(?!\w)|무시하(?:고|라|세요)|기록(?:하라|해라|하세요)|無視し(?:て|ろ)"
    r"|记录为|記錄為|忽略(?:上|以上|之前|前)"
)

_DENIAL = re.compile(
    r"(?<![\w-])(?:not|never|no|none|nothing|nobody|nor|neither|cannot|without|n't"
    r"|dont|doesnt|didnt|isnt|arent|wasnt|werent|wont|cant|shouldnt|hasnt|havent"
    r"|nicht|kein(?:e[nmrs]?)?|nie|niemals|keinesfalls|nunca|jamás|tampoco|ningún|ninguna|pas|jamais|aucune?"
    r"|non|mai|não|niet|geen|안)(?![\w-])(?!\.?\s?[0-9])"
    r"|n't(?!\w)|(?<![\w-])(?:no|won't|not)-\w"
    r"|않|못\s?[하했한할]|지\s?마|아니|아님|없|ない|なく|なし|ません|せず|不(?![同错錯])|没|沒|无(?!论)|無(?!料)|未(?!来|來)"
)
_HARMLESS = re.compile(
    r"(?:no|not\s+a)\s+(?:problems?|objections?|worries|complaints)|why\s+not|not\s+only"
    r"|kein(?:e)?\s+(?:problem|einwände)|異議なし|異論なし|问题不大|没问题|沒問題"
)
_CONTRAST = re.compile(
    r"[,;:.!?()\[\]\n]+|\s[—–-]{1,3}\s|[。、，；：！？]|(?<!\w)(?:but|because|since|instead|rather|though|weil|denn|porque|parce|car|aber|sondern|pero|sino|mais)(?!\w)"
)

# Words that agree wherever they stand; and words that do where nothing but the assent goes on.
_ASSENT = re.compile(
    r"(?<!\w)(?:ok|okay|kk|yes|yep|yeah|yup|aye|sure|agreed?|agreement|let's|lets|do\s+(?:that|it|so|this)|doing\s+(?:that|it)"
    r"|makes\s+sense|sounds\s+(?:good|great|fine|right|like\s+a\s+plan)|works\s+for\s+(?:me|us)|absolutely|definitely|exactly|wins"
    r"|happy\s+to|glad\s+to|will\s+do|i'm\s+in|in\s+favou?r|objections?|thumbs\s+up|lgtm|go\s+(?:for|with|ahead)|going\s+(?:for|with)"
    r"|make\s+it\s+so|so\s+be\s+it|it\s+is\s+then|that\s+one|the\s+(?:first|second|third|last|former|latter)(?:\s+one)?"
    r"|ja|jo|jup|genau|einverstanden|passt|gerne|machen\s+wir|so\s+machen|abgemacht|sí|vale|dale|claro|de\s+acuerdo|hagámoslo"
    r"|oui|d'accord|entendu|ça\s+marche|va\s+bene|sim|certo|да|хорошо|ладно|договорились|согласен|согласна|tamam|evet|نعم|موافق)(?!\w)"
    r"|(?:^|[,.;:!—–-])[^\w\n]*(?:k|ya|deal|done|fine|great|perfect|good|right|correct|confirmed|settled|decided|approved|accepted|both"
    r"|gut|klar|beschlossen|hecho|perfecto|bien|parfait|all\s+good)"
    r"(?=\s*(?:$|[^\w\s]|(?:for|with|by|to|from)\s+(?:me|us|my)|idea|plan|point|call|then|let's|so|dann|entonces|alors))"
    r"|[+]1|좋|네|예|그래|그럼|하죠|합시다|동의|오케이|はい|いい|了解|承知|それで|そうし|賛成|異議なし|好|行|可以|同意|就这|就這|没问题|沒問題"
)


def asks(sentence: str, about: str, names: tuple[str, ...] = ()) -> bool:
    """Whether a sentence asks; `about` is what somebody takes to be stated in it.

    "5 then, can you book it?" states something before it asks for something else. `names`: what the
    thing is called, so that "is the launch approved" is known to be turned round.
    """
    bare = sentence.rstrip(" \t*_~)\"'”’\ue004")
    if _TURNED.match(sentence) or bare.startswith("¿"):
        return True
    for name in names:
        if name and re.match(
            rf"{_LEAD}(?:is|are|was|were|has|have|did|does|should|will|ist|sind|hat|wird)\s+(?:the\s+)?{re.escape(name)}(?!\w)",
            sentence,
        ):
            return True
    if not bare.endswith(_QUESTION_MARKS):
        return False
    if _ASKS.match(sentence):
        return True
    cuts = [cut.end() for cut in _PART.finditer(bare[:-1])]
    # Only a request of its own at the end leaves what stands before it a statement.
    last = cuts[-1] if cuts else 0
    request = last and _REQUEST.match(bare[:-1], last)
    return not (request and about in bare[:last])


def opens_a_question(sentence: str) -> bool:
    """Whether it asks from its first word on; "it is live, right?" says so as well as asking."""
    marked = sentence.rstrip(" \t*_~)\"'”’\ue004").endswith(_QUESTION_MARKS)
    return bool(_TURNED.match(sentence) or (marked and _ASKS.match(sentence)))


def is_conditional(sentence: str) -> bool:
    """Whether the whole of it depends on something that has not come to be."""
    return bool(_CONDITION.match(sentence))


def orders(sentence: str) -> bool:
    """Whether it tells a reader what to write down, or what to make of the rest."""
    return bool(_ORDER.search(sentence))


def denies(text: str) -> bool:
    """Whether a word of denial stands in it."""
    return bool(_DENIAL.search(_HARMLESS.sub(" ", text)))


def clauses(sentence: str) -> list[tuple[int, int]]:
    """The pieces of a sentence that are denied or not each for itself."""
    found, at = list[tuple[int, int]](), 0
    for cut in _CONTRAST.finditer(sentence):
        found.append((at, cut.start()))
        at = cut.end()
    found.append((at, len(sentence)))
    return [(start, end) for start, end in found if sentence[start:end].strip()]


def assents(sentence: str) -> bool:
    """Whether it accepts what somebody proposed; what it accepts need not stand in it."""
    if sentence.rstrip(" \t*_~)\"'”’").endswith(_QUESTION_MARKS) and not _PART.search(
        sentence[:-1]
    ):
        return False
    return bool(_ASSENT.search(sentence)) and not denies(sentence)
