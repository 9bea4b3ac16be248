"""The words the deterministic rules know, per language; it knows no rule.

`STOP` and `SETTLED` are defaults that settings may replace. The rest is grammar: each constant is
a piece of a pattern, matched on plain text (lower case, straight quotes, masked code and links).
"""

from collections.abc import Collection, Mapping


def _words(text: str, by: str | None = None) -> frozenset[str]:
    return frozenset(text.replace("\n", "").split(by))


# Things that look like a key and are none. An entry with digits stops exactly that (`gpl-3`);
# a bare word stops any number (`utf` stops UTF-8 and UTF-16).
STOP: Collection[str] = _words(
    # standards, encodings, licences, protocols
    "utf ucs iso iec ieee ansi ascii din en rfc pep cve cwe gpl lgpl agpl mpl epl bsd apache mit cc "
    "sha md aes rsa avx sse ripemd blake arcfour camellia des hmac base crc tls ssl http https ipv usb hdmi wifi oauth openid es ecma "
    "latin cp mp mpeg jpeg mime "
    # models, machines, diseases, vehicles
    "gpt llama claude gemini bert ps xbox rtx gtx iphone ipad pixel galaxy boeing airbus covid sars "
    "python java vue react angular web win windows macos ios android php html css "
    # months, weekdays and other times: may-2016, mid-2027, fri-13
    "jan january feb february mar march apr april may jun june jul july aug august sep sept "
    "september oct october nov november dec december mon tue wed thu fri sat sun monday tuesday "
    "wednesday thursday friday saturday sunday januar februar märz mai juni juli oktober dezember "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre "
    "fy cy early mid late pre post since until year week day hour am pm "
    "spring summer autumn fall winter "
    # time zones: GMT-5
    "utc gmt est edt cst cdt mst mdt pst pdt bst cet cest eet eest msk ist jst kst aest aedt "
    # machines and their parts, runs and errors, as logs name them
    "user player guest worker host pod shard thread process proc pid core cpu gpu eth disk port "
    "error err exit code epoch layer exp localhost "
    # roads, vehicles, ratings, courses
    "route highway interstate area apollo formula pg quiz lab hw homework assignment exercise lecture lesson "
    "episode season scene verse vol volume tier model group track question option example sample "
    "footnote appendix theorem lemma eq equation astm "
    # numbered things that are no decisions
    "step page slide chapter part section figure fig table row line column level lvl top num nr no "
    "tone under over catch version ver rev minus plus"
)

# Words that settle something, as they stand after "is". Taken together for every language: a
# German word after an English "is" settles as well.
SETTLED: Mapping[str, Collection[str]] = {
    "en": _words(
        "approved|rejected|cancelled|canceled|fixed|closed|reopened|re-opened|live|done|paused|merged"
        "|shipped|released|postponed|delayed|on hold|accepted|declined|denied|deferred|resolved"
        "|completed|complete|finished|deployed|launched|deprecated|withdrawn|revoked|reverted"
        "|rolled back|scrapped|killed|dropped|shelved|frozen|unfrozen|confirmed|final|finalized"
        "|finalised|signed|signed off|enabled|disabled|abandoned|suspended|resumed|archived|published"
        "|implemented|in production|won't fix|wontfix|greenlit|green-lit|off the table|a go|a no-go"
        "|no-go|blocked|unblocked|decided|settled|agreed|adopted|retired|superseded|obsolete|void|dead"
        "|vetoed|passed|merged in|taken down|back on|called off|funded|signed-off"
        "|in effect|in force|up and running|wrapped up|signed and sealed|rescheduled|stopped"
        "|terminated|locked|unlocked|reversed|overturned|reinstated|good to go",
        "|",
    ),
    "de": _words(
        "genehmigt|bewilligt|angenommen|abgelehnt|abgesagt|storniert|behoben|gefixt|geschlossen"
        "|wiedereröffnet|wieder offen|erledigt|fertig|pausiert|gemergt|gemerged|ausgeliefert"
        "|veröffentlicht|verschoben|verzögert|zurückgestellt|auf eis|freigegeben|beschlossen|entschieden"
        "|bestätigt|gestoppt|beendet|abgeschlossen|gestrichen|zurückgezogen|deaktiviert|aktiviert"
        "|in kraft|umgesetzt|online",
        "|",
    ),
    "es": _words(
        "aprobado|aprobada|rechazado|rechazada|cancelado|cancelada|arreglado|arreglada|corregido"
        "|corregida|cerrado|cerrada|reabierto|reabierta|hecho|hecha|listo|lista|pausado|pausada"
        "|en pausa|fusionado|fusionada|publicado|publicada|lanzado|lanzada|pospuesto|pospuesta|aplazado"
        "|aplazada|retrasado|retrasada|en espera|aceptado|aceptada|confirmado|confirmada|resuelto"
        "|resuelta|terminado|terminada|decidido|decidida|descartado|descartada|desplegado|desplegada"
        "|en producción",
        "|",
    ),
    "fr": _words(
        "approuvé|approuvée|validé|validée|rejeté|rejetée|refusé|refusée|annulé|annulée|corrigé"
        "|corrigée|fermé|fermée|clos|close|rouvert|rouverte|terminé|terminée|fini|finie|en pause"
        "|suspendu|suspendue|fusionné|fusionnée|livré|livrée|publié|publiée|reporté|reportée|retardé"
        "|retardée|en attente|accepté|acceptée|confirmé|confirmée|résolu|résolue|décidé|décidée|adopté"
        "|adoptée|abandonné|abandonnée|en ligne|en production|déployé|déployée",
        "|",
    ),
    "pt": _words(
        "aprovado|aprovada|rejeitado|rejeitada|cancelado|cancelada|corrigido|corrigida|fechado|fechada"
        "|reaberto|reaberta|concluído|concluída|pausado|pausada|adiado|adiada|publicado|publicada",
        "|",
    ),
    "ja": _words(
        "承認済み|承認済|承認|承認されました|承認されている|却下|却下済み|却下されました|中止|中止になりました|"
        "キャンセル|キャンセル済み|修正済み|修正完了|完了|完了済み|完了しました|クローズ|クローズ済み|再開|再開済み|"
        "一時停止|保留|延期|延期されました|公開済み|リリース済み|リリースされました|マージ済み|マージされました|"
        "デプロイ済み|決定|決定済み|確定|確定済み|終了|解決済み",
        "|",
    ),
    "ko": _words(
        "승인|승인됨|승인되었습니다|승인됐습니다|승인 완료|거부됨|거절됨|반려|반려됨|취소|취소됨|취소되었습니다|"
        "취소됐습니다|수정됨|수정 완료|완료|완료됨|완료되었습니다|완료됐습니다|종료|종료됨|닫힘|재개|재개됨|중단|중단됨|"
        "일시 중지|보류|보류됨|보류 중|연기|연기됨|연기되었습니다|출시됨|배포됨|배포 완료|병합됨|머지됨|확정|확정됨|결정됨|해결됨",
        "|",
    ),
    "ar": _words(
        "معتمد|معتمدة|موافق عليه|موافق عليها|تمت الموافقة عليه|تمت الموافقة عليها|تمت الموافقة|مرفوض|"
        "مرفوضة|ملغى|ملغي|ملغاة|مغلق|مغلقة|مكتمل|مكتملة|منتهي|منتهية|مؤجل|مؤجلة|متوقف|متوقفة|معلق|معلقة|"
        "منشور|منشورة|تم الإصلاح|تم إصلاحه|تم الدمج|تم الإلغاء|تم الإطلاق|مؤكد|مؤكدة",
        "|",
    ),
}

# Between a key and what it is. `past` only mentions: what was so need not be so now.
# Korean and Japanese particles and Arabic (which has no such word) touch the key or need no verb.
COPULA = (
    r"(?:\s+now)?\s+(?:is|are)(?:\s+been)?(?![\w'])|'s(?:\s+been)?(?!\w)|\s+(?:has|have)(?:\s+now)?\s+been\b"
    r"|\s+(?:(?:just|finally)\s+)?got\b"
    r"|\s+(?:ist|sind)\b"
    r"|\s+(?:está|están|ha\s+sido|han\s+sido|queda)\b"
    r"|\s+(?:est|sont|a\s+été|ont\s+été)\b|\s+foi\b"
    r"|\s?[はが]|\s?(?:은|는|이|가)(?=\s)"
)
PAST = r"\s+(?:was|were|wurde|wurden|war|fue|fueron|était|étaient|fut)\b"
NOW = r"now|jetzt|nun|ab\s+sofort|ahora|désormais|maintenant"
ADVERB = (
    r"officially|finally|already|hereby|just|all|fully|definitely|indeed|actually|formally|also|both"
    r"|bereits|schon|endlich|offiziell|ya|oficialmente|finalmente|déjà|enfin|officiellement"
)
STILL = r"still|immer\s+noch|noch|todavía|sigue|toujours|encore"
NOT_COPULA = r"(?:n't|\s+(?:not|no|never|nicht|kein|keine|jamais|pas))(?![\w-])"
# Polite endings of Japanese and Korean predicates are not part of the value.
POLITE = (
    r"(?:です|でした|だ|となりました|になりました|しました|입니다|됐어요|되었어요|이에요|예요)?"
)

# What may follow a settled word without changing what it says.
AFTER_SETTLED = (
    r"(?:in|on|for|by|at|as|to|until|till|from|since|with|without|and|now|today|yesterday|again"
    r"|everywhere|due|because|but|so|after|per|thanks|this|last|next|effective|btw|folks|all|everyone"
    r"|everybody|team|then|too|via|finally|already|please|pls|seit|für|von|am|ab|bis|por|para|desde|hasta|pour|par|depuis"
    r"|weil|denn|porque|parce|car|heute|gestern|hoy|ayer|hier|aujourd'hui)\b"
)
# Right after a settled word, and anywhere behind it, this says who, when or how, and is cut.
BESIDES_SETTLED = r"\s?(?:[,;(\[—–|/\ue002\ue004]|:(?!\w))|\s-+\s|\s/?cc\b"
BESIDES_LATER = (
    r"\s+(?:by|now|today|yesterday|tonight|this\s+(?:morning|afternoon|week)|last"
    r"\s+(?:night|week)|just\s+now|again|as\s+of|per|effective|btw|folks|everyone|everybody|all|team"
    r"|finally|already|please|pls|then|too|as\s+well|for\s+sure|von|heute|gestern|por|hoy|ayer|par|hier|aujourd'hui|and\s+(?:we|i|you"
    r"|it|they|he|she|please|the|thanks))\b"
)

# What is left of "for now" and the like when their end is cut.
DANGLING = (
    r"(?:\s+(?:for|until|till|til|to|in|on|by|at|as|of|from|since|with|without|and|so|after|per|due|because|but"
    r"|the|right|not|für|von|am|ab|bis|seit|por|para|desde|hasta|pour|par|depuis))+$"
)
# "Is live in three days", "is done by Friday": a plan, and no fact yet.
SOON = (
    r"(?:\s(?:in\sprod(?:uction)?|everywhere|(?:for|to)\s(?:all|everyone|everybody)))?\s(?:"
    r"(?:in|within)\s(?:the\snext\s|about\s|around\s|~\s?)?(?:(?:an?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|[0-9]{1,3}(?:\s?(?:-|–|to|or)\s?[0-9]{1,3})?|(?:a\s)?(?:few|couple(?:\sof)?)|some)(?:\smore)?\s?)?"
    r"(?:min(?:ute)?s?|hours?|hrs?|h|days?|d|weeks?|months?|quarters?|sprints?)"
    r"|(?:later\s)?(?:tomorrow|tonight|soon|shortly)|later|next\s(?:\w+day|week|month|quarter|year|sprint|monday)"
    r"|(?:by|before)\s(?:{date}|(?:the\s)?(?:end\sof\s(?:the\s|this\s|next\s)?\w+|weekend|deadline)|eod|eow|eom|cob|then|[0-9]{1,2}(?::[0-9]{2})?\s?(?:am|pm|h|uhr)?))"
    r"(?=\s?(?:$|[^\w\s'-])|\s(?:at|the\slatest|latest|eod|cob|morning|afternoon|evening|night|and|or|so|if)\b)"
)

# Words beside a mention that only call somebody's attention.
CALL = r"(?:fyi|f\.y\.i|/?cc|ping(?:ing)?|please|pls|plz|thanks|thank\s+you|thx|ty|hi|hey|see|\+cc|attn|heads[\s-]up)"
# Before a mention these make the person part of the value.
WITH_PERSON = (
    r"(?:by|to|for|from|with|without|via|of|at|in|on|under|as|is|are|be|than|like|per|through|until|and|or|not|no|only|just|the|new"
    r"|ask|let|give|hire|invite|promote|assign|appoint|elect|nominate|pick|choose|chose|pay|fire|contact|call|meet|follow|trust|name"
    r"|owner|lead|leader|manager|captain|assignee|reviewer|author|contact|approver|mr|ms|dr|replace|remove|add|keep|tell|send|move|use"
    r"|durch|von|an|mit|für|zu|de|a|por|con|para|par|à|avec|pour|et|y|und|oder|ou)"
)

# A clause that explains and is no part of a value: with or without a comma, and with one.
BECAUSE = (
    r"\s+/?cc\s|\s*,?\s+(?:because|'cause|due\s+to|although|though|even\s+though|thanks\s+to|let\s+me\s+know|but"
    r"|so\s+that|weil|porque|parce\s+qu|sorry|thank\s+you)\b"
    r"|\s*,\s*(?:since|as|so|which|thanks|thx|ty|per|fyi|cc|please|pls|see|and\s+(?:we|i|you|it|they|he"
    r"|she|please|the|thanks)|given|effective|yay|finally|congrats|great|nice|sorry|more|details|denn|car|pues"
    r"|ya\s+que|damit|shout|ping|ask|just|i|we|you|they|who|where)\b"
    r"|\s*;\s|\s+(?:—|--)\s+"
)

# An answer to somebody.
REPLY = r"(?:yes|yeah|yep|yup|no|nope|ok|okay|ah|oh|hmm*|right|sure|indeed|exactly|true|correct|well)[\s,]+(?:i|we|you|that|this|it|but|so|he|she|they|and|thanks?)(?!\w)"
# It is somewhere else.
ELSEWHERE = r"(?:.*\s)?(?:below|above|attached|linked|(?:in|see)\s+(?:the\s+)?(?:thread|doc|comments?|replies|notes|minutes|attachment|link))|(?:details|notes|minutes|slides|link|agenda|recording|summary|thread|doc)\s+(?:here|later|soon|to\s+follow|coming)"
# A value that begins like this is a remark, a question, a plan or still open.
NO_VALUE = (
    r"(?:\+1(?![0-9.])|[+–−-]\s?[0-2](?=\s?(?:$|[,;(!]|(?:from|for|to|on|because|here|vote|votes|binding|non-?binding|i|as)\b))"
    r"|[+–−-]\s?[0-9]+\s?(?:lines?)?[\s/,|;]{1,3}[+–−-]\s?[0-9]+|i|i'm|im|i've|i'll|i'd|i\s+am|we'll|we\s+will|we're|we\s+are|we\s+(?:need|have\s+to|want|can|could"
    r"|should|may|might)|let's|lets|let\s+us|let\s+me|can|can't|cannot|could|couldn't|would|wouldn't|should"
    r"|shall|may(?!\s*[0-9])|might|must|will|won't(?!\s+fix)|gonna|going\s+to|plans?\s+to|planning|to\s+be|trying|try|maybe|perhaps"
    r"|probably|possibly|likely|hopefully|please|pls|plz|any|anyone|anybody|someone|somebody|who|whose"
    r"|what|what's|why|where|which|when|whether|how|how's|if|unless|is|isn't|are|aren't|was|wasn't|were"
    r"|do|does|doesn't|did|didn't|don't|has|hasn't|have|haven't|had|not|never|no\s+longer|no\s+(?:idea|news"
    r"|change|changes|update|updates|decision|clue|answer|response|reply|one|progress|word)|nothing|none|nobody|n/a|na|need|needs|needed|waiting"
    r"|awaiting|pending|still|under\s+(?:review|discussion|consideration|investigation|debate|way)|in\s+(?:review|discussion|principle|debate|question|limbo)|being|tbd|tbc|tba|tbh"
    r"|undecided|unclear|unknown|unsure|not|open\s+(?:question|issue|for)|up\s+for|up\s+to\s+(?:you|them|him|her|us|me|the)|to\s+discuss|discuss|discussion|thoughts|opinions|proposal|proposed"
    r"|propose|proposing|suggest|suggestion|suggesting|suggested|draft|wip|idea|ideas|question|questions|quick|thanks|thank|thx|ty"
    r"|see|cc|fwiw|imo|imho|same|likewise|ditto|idem|agreed|agree|lgtm|looks|looking|look|seems|sounds|sound|feels|lol|haha|hmm+|nice|great|good|cool|sorry|oops"
    r"|hi|hey|hello|yes\s+or\s+no|go\s+or\s+no|also|btw|fyi|there|there's|here|here's|it|it's|that|that's|(?:this|these|those)\s+(?:is|are|was|were|needs?|should|would|looks?|seems?)|they|he|she"
    r"|you|your|my|working|checking|reviewing|investigating|blocked\s+on|depends|depending|assigned|added|opened|created|filed|started"
    r"|ob|wenn|falls|soll|sollte|sollen|können|könnte|nicht|kein|keine|noch|wer|was|wann|wie|warum|wird|werden|bitte|vielleicht|siehe|offen|in\s+arbeit"
    r"|si|quién|qué|cuándo|cómo|por\s+qué|debería|podría|no\s+(?:está|es|ha)|quizás?|tal\s+vez|pendiente|por\s+favor|ver"
    r"|est-ce|qui|que|quoi|quand|comment|pourquoi|devrait|pourrait|peut-être|sera|ne|n'est|pas|voir|en\s+cours|aucune?)"
    r"(?![\w-])"
    r"|未|まだ|検討|확인\s*중|검토|미정|아직|قيد|غير|لم|ليس|هل"
)
# Anywhere in a sentence: a condition, a wish, a proposal, something still open.
OPEN = (
    r"\b(?:if|unless|whether|assuming|suppos(?:e|ing)|let's\s+say|providing|lest|in\s+the\s+event|on\s+the\s+(?:assumption|condition)|yeah,?\s+right(?=\s?[,.!])|provided(?:\s+that)?|in\s+case|as\s+long\s+as|as\s+soon\s+as"
    r"|contingent|conditional|subject\s+to|depend(?:s|ing)?\s+on|otherwise|would|could|might|should|shall|ought|can\s+we|may\s+be"
    r"|when(?:ever)?|once(?!\s+(?:a|an|per|every|again|daily|weekly|more)\b)|hopefully|hope|wish|wishing|maybe|perhaps|probably"
    r"|possibly|likely|proposal|propose[sd]?|proposing|suggest(?:s|ed|ing|ion)?|let's|lets|what\s+about|how\s+about|wonder(?:ing)?|not\s+sure|unsure"
    r"|unclear|unknown|undecided|tbd|tbc|tba|pending|awaiting|waiting\s+(?:for|on)|yet|in\s+(?:principle|theory)|on\s+paper|tentative(?:ly)?|provisional(?:ly)?|allegedly|supposedly|rumou?r"
    r"|will\s+be|'ll\s+be|going\s+to\s+be|gonna\s+be|doubt|imagine|pretend|hypothetical(?:ly)?|no\s+longer|almost|nearly|not\s+really|objects?|objections?|disagrees?|vote|voting"
    r"|used\s+to\s+be|wenn|falls|sofern|sollte|könnte|würde|hoffentlich|vielleicht|noch\s+nicht|ojalá|quizás?|tal\s+vez|debería|podría"
    r"|a\s+menos|devrait|pourrait|peut-être|à\s+condition|sauf\s+si|j'espère|ou\s+pas|or\s+not|or\s+is\s+it)(?!\w)"
    r"|もし|かもしれ|たら|べき|만약|아마|إذا|ربما|لو\s"
)
# The same inside a decision in words, whose text may well say what should happen when.
OPEN_TEXT = (
    r"\b(?:if|unless|whether|assuming|supposing|(?:provided|providing)\s+(?:that|the|we|they|he|she|it|you|our|all|no|nobody|everyone|everybody|legal|finance|budget|there)"
    r"|[as][so]\s+long\s+as|on\s+condition|contingent|subject\s+to|depend(?:s|ing)?\s+on"
    r"|hopefully|maybe|perhaps|probably|possibly|tbd|tbc|tba|pending|awaiting|undecided|not\s+sure|tentative(?:ly)?"
    r"|yet|objects?|objections?|disagrees?|or\s+not|wenn|falls|sofern|vielleicht|quizás?|peut-être)(?!\w)"
)
# Polite endings that make nothing open.
POLITE_IF = (
    r"\b(?:let\s+me\s+know|ping\s+me|shout|ask(?:\s+me)?|reach\s+out|dm\s+me|message\s+me|reply)?,?\s*(?:if|should)\s+(?:you|anyone|anybody|there)"
    r"\s+(?:(?:still\s+)?ha(?:ve|s)|see|spot|are)\s+(?:any\s+|a\s+|other\s+|more\s+|further\s+)*(?:question|issue|problem|concern|trouble)s?"
)
# Before "we decided": somebody else's words, a memory, a condition, a doubt.
NOT_OURS = (
    r"\b(?:if|unless|whether|when|whenever|until|till|once|because|cause|since|as|where|what|why|how|which|who|that"
    r"|in\s+case(?!\s+(?:you|anyone|anybody)\s+(?:missed|forgot|wondered|(?:are|were|is|was)\s+wondering))|on\s+condition|(?:in|on)\s+the\s+(?:event|off\s?-?chance|assumption|condition)"
    r"|assuming|supposing|provid(?:ed|ing)(?=(?:\s+that)?\s*$)|lest|otherwise|presum(?:e|ing|ably)|imagining|pretending|hypothetical(?:ly)?|angenommen|gesetzt|suponiendo|en\s+caso|supposons|au\s+cas"
    r"|though|although|think|thinks|thought|thinking|guess|believe|wish|hope|suppose|assume|remember|recall|imagine|pretend"
    r"|say|says|said|saying|tell|tells|told|hear|heard|claim|claims|claimed|write|wrote|writes|read|know|knew|forgot|last\s+(?:year|month|job|company|place)"
    r"|years?\s+ago|back\s+then|back\s+in|old\s+(?:job|company|team)|previous(?:ly)?|my\s+(?:team|last|former|previous)|used\s+to|the\s+day|the\s+time"
    r"|iirc|afaik|afaict|aiui|(?:pretty|fairly|quite|almost|not)\s+sure|apparently|supposedly|seems|weren't|aren't|wasn't"
    r"|before|did|didn't|have|haven't|had|hadn't|not|never|maybe|perhaps|probably|almost|should|could|would|might)(?!\w)"
)
# `KEY: ...` after a key of a decision says what was decided, whatever it is.
DECISIVE = _words("decision decisions dec adr resolution motion policy")
# Keys of a tracker, beside those written in capitals: what stands behind them is mostly a title.
TICKET = _words(
    "bug issue ticket task story epic case pr mr gh bpo todo feature feat defect req item"
)
# A tracker's title begins like this, and so does a line of a changelog.
TITLE = (
    r"(?:(?:add|fix|remove|updat|implement|refactor|improv|support|handl|creat|investigat|allow|bump|upgrad|migrat|renam|replac"
    r"|document|clean|ensur|prevent|avoid|introduc|make|writ|test|check|verif|review|deploy|build|extend|enabl|disabl|convert|mov|reduc"
    r"|simplif|chang|correct|delet|drop|expos|extract|hid|includ|initiali[sz]|integrat|load|merg|optimi[sz]|port|provid|rework|rewrit"
    r"|revert|set|show|split|start|stop|switch|unif|us|wrap|wrote|made|built|hid|backport|deprecat|respect|return|throw|rais|call|pass|do)"
    r"(?:e|s|es|ed|ied|ies|y|d|t|ing|ning|ped|ping|ged|ging|ten)?\s+(?:up\s+)?(?:\S+))"
)
# What is said of a ticket while it is worked on.
CHATTER = (
    r"(?:\w+ing(?!\w)|works?\s+(?:for\s+me|great|well|fine|now|again)|half\s?-?(?:done|way)|almost|ready\s+(?:for|to)\b|code\s+review|reproduced|repro'?d"
    r"|pushed|prs?(?!\w)|mrs?(?!\w)|patch|no\s+(?:blockers?|movement|luck|eta|comment)|one\s+(?:more|question|thing|last)|two\s+more|me(?!\w)|(?:this|that)\s+one"
    r"|(?:review|tests?|deploy|docs|refactor|fix|clean-?up|debug|merge|rebase|retest|code|qa)$|flaky|weird|odd|ugh|bump|ping|(?:yester|to)day's|backlog|due(?!\w)|p[0-4]$|story\s+points?|duplicate\s+of|dupe"
    r"|tested|wrote|spent|got|had|took|went|talked|spoke|met|merged\s+\w+\s+into)"
)
POINTS = r"[0-9]+\s?(?:sp|pts?|points?)"
# However long, this is no title: what is done with it, not what it is about.
DECIDING = (
    r"(?:no|not|never|go|option|plan)(?!\w)|(?:we|wir|nous)\s+(?:go|keep|ship|use|take|drop|stay|roll|move|wait|stop|start|skip|do|pay|buy|hire|pick"
    r"|close|cancel|postpone|revert|release|merge|nehmen|bleiben|machen|prenons|gardons)(?!\w)"
)
# Where a ticket stands, however it is written.
STAGE = r"(?:in|on)\s+(?:progress|production|prod|testing|test|qa|staging|dev|uat)|to\s?do|(?:will|won't|to)\s+(?:not\s+)?do|open|new|ready|triaged?|selected"
# Work on a program, whatever the key is.
PATCH = (
    r"(?:Add|Adjust|Allow|Avoid|Bump|Clean|Correct|Drop|Fix|Handle|Implement|Improve|Perform|Prevent|Refactor|Remove|Rename|Replace|Rewrite"
    r"|Support|Tidy|Update|Verify|fix|bump|refactor|rename)(?:e?d|e?s|ing)?\s\S"
)
# Somebody's errand, behind any key.
ERRAND = r"(?:asked|e?mailed|called|pinged|messaged|talked|spoke|spoken|tested|tried|reminded|forwarded|phoned|texted|chased)\s+\w"
# A sentence about something else, said to somebody whose name looks like a key.
CLAUSE = (
    r"(?:the|this|that|these|those|my|your|our|his|her|their|its|some|all|everything|something|nothing|that's|it's)(?:\s+[\w'-]+){0,5}?"
    r"\s+(?:is|are|was|were|isn't|aren't|wasn't|has|have|had|does|doesn't|did|didn't|works?|worked|looks?|seems?|needs?|will|would|should|could|can|can't)(?!\w)"
)
# Kinds of commits: `docs: fix a typo` says nothing about the entity that is called docs.
COMMIT = _words(
    "docs doc build ci test tests chore feat fix perf refactor style api ui release deps core web infra"
)
# A line of a program.
CODE_LINE = (
    r"\S*\w\(.*|.*(?:[{};]|[=!<>+]=|\[[\w:'\"]*\]|\w\.\w+\(|[\"']\s?[-+*/%]\s?[\w\"'])|\w+\[.*|[\w.]+\s?[-+*/%]\s?[\w.]+|(?:lambda|new|await|select)\s.*"
    r"|(?:null|nil|none|true|false|self|str|int|float|bool|bytes|dict|list|object|string|number|boolean|any)(?:\s?=.*|,)?"
)
# Behind a statement, after its last word.
SMILE = r"\s?(?<![\w.])(?:[:;=]['-]?[()dpo/\\|*]+|\^_?\^|xd+|lo+l|haha+|lmao|hehe)$"
# Right after "we decided": no content of a decision.
NO_TEXT = (
    r"(?:early|internally|informally|unanimously|tentatively|provisionally|recently|previously|mutually|jointly|as\s+an?|by|during|after|over|some\s+time|on\s+\w+day|for\s+(?:now|today)|what|whether|how|who|when|where|which|why|if|it|this|that|them|so|together|earlier|yesterday|today|already|before|long\s+ago"
    r"|last\s+\w+|too|as\s+well|then|there|here|upon|with|about|in|at|back|a\s+while|to\s+(?:disagree|meet\s+again|wait\s+and|talk|discuss|decide|think|look\s+into|investigate|revisit|sleep\s+on|vote|reconvene|keep\s+(?:discussing|talking|thinking)"
    r"|(?:defer|postpone|delay|put\s+off)\s+(?:the|this|that|any|a)\s+(?:decision|discussion|vote|question)|wait$|take\s+a\s+(?:break|vote)|go\s+for\s+(?:lunch|coffee|a\s+walk)|ask|$)"
    r"|not\s+to$|(?:we|i)\s+(?:need|want|don't|do\s+not|can't|cannot|have\s+to)|(?:we|i)'d\s+better)(?!\w)"
)
# Cut off in the middle: the line was broken, or it goes on elsewhere.
CUT_OFF = r"(?:\(.*|.*\s(?:to|the|a|an|of|and|or|that|will|would|for|with|from|is|are|was|be|our|their|its|which|than))"
# No more than a name for what was decided.
EMPTY_TEXT = (
    r"(?:to|not\s+to|not)|(?:(?:not\s+to|against|for|with|go|going|do|doing|use|using|keep|drop|try|have|make)\s+){0,3}(?:it|this|that|them|these|those|so|one|both|either|neither)(?:\s+(?:together|then|now|instead|again|anyway|later))?"
    r"|(?:a|an|the|these|those|some|our|all|this|that|most|many|following)\s+(?:\w+\s+)?(?:following|points?|things?|items?|terms?|price|date|time|place|name|names|colou?r|plan|approach|wording|text|format|scope|agenda|topic|topics|list|most|way|way\s+forward|next\s+steps|solution|option|options)"
    r"|(?:terms|price|date|scope|wording)|.*:"
    r"|(?:still\s+|now\s+|currently\s+|again\s+)*(?:blocked|unblocked|deferred|postponed|delayed|tabled|parked|stalled|stuck|(?:on\s)?hold|on\s+ice|overdue|late|later|soon|outstanding|required|reached|reversed|revisited|unchanged|in\s+progress)"
    r"(?:\s+(?:by|on|until|till|to|for|again|once|one|a|an|another)\b.*)?"
)
# Somebody else has to decide.
HANDED = (
    r"(?:(?:is|still|all|was|been)\s+)*(?:(?:up|left|falls|belongs|delegated|escalated|handed(?:\s+over)?)\s+to\s(?!(?:[0-9]|an?\b|one\b|two\b|three\b|four\b|five\b|six\b|half\b|date\b))\S+(?:\s\S+){0,2}|(?:rests|lies|sits)\s+with\s.*|in\s\S+\shands"
    r"|(?:[\w.@-]+(?:'s|s')|your|their|his|her|my)\s+(?:call|decision|choice|turn)|[\w.@-]+\s+(?:decides|will\s+decide|to\s+decide|(?:has|needs)\s+to\s+decide|must\s+decide))"
)

# Decisions in words: the label at the start of a line, and the sentence.
LABEL = (
    r"(?:(?:final|team|our|the|key|new)\s+)?decision(?:\s+made|\s+taken)?|decided|entscheidung|beschluss|beschlossen"
    r"|decisión|décision|decisão|決定(?:事項)?|결정(?:\s*사항)?|القرار|قرار"
)
# What a scribe writes for a meeting's bot; the words in capitals only as they stand here.
SHOUTED_LABEL = r"resolved|resolution|agreed"
HASH_LABEL = r"#(?:agreed|decided|resolved|decision)\s(?!on\b)"
WE_DECIDED = (
    r"(?:\bit\s+(?:was|has\s+been|is)\s+(?:(?:also|finally|hereby|unanimously)\s+)?(?:decided|agreed|resolved)(?=\s(?:that|to)\b)|\bwe(?:'ve|\s+have)?(?:\s+(?:all|just|now|finally|also|both|then|collectively|unanimously|jointly|hereby|officially)){0,2}"
    r"\s+(?:decided|agreed)(?!\w))"
)
# "we decided to reject KEY": what that makes of KEY.
VERBS: Mapping[str, str] = {
    "approve": "approved",
    "accept": "accepted",
    "reject": "rejected",
    "decline": "declined",
    "cancel": "cancelled",
    "close": "closed",
    "reopen": "reopened",
    "pause": "paused",
    "postpone": "postponed",
    "delay": "delayed",
    "defer": "deferred",
    "drop": "dropped",
    "kill": "killed",
    "scrap": "scrapped",
    "shelve": "shelved",
    "merge": "merged",
    "revert": "reverted",
    "abandon": "abandoned",
    "adopt": "adopted",
    "suspend": "suspended",
}

# Verbs that move a value: KEY moved to X, KEY changed from X to Y, we moved KEY to Y.
MOVED = (
    r"changed|moved|switched|updated|went|bumped|raised|lowered|reverted|set|pushed(?:\s+back)?|postponed|delayed"
    r"|rescheduled|shifted|renamed|reset|upgraded|downgraded|extended"
)

# "We decided to move KEY to ...".
MOVES = r"move|change|switch|postpone|push(?:\s+back)?|delay|reschedule|shift|set|raise|lower|bump|upgrade|downgrade|extend|cut|limit|cap|increase|reduce|bring\s+forward"

# After "changed to" these are purposes, not values.
TO_DO = (
    r"accommodate|account|add|address|allow|apply|avoid|be|better|block|call|catch|check|clarify|cover|deal|do|drop|emphasi[sz]e"
    r"|enable|ensure|explain|fit|fix|follow|get|give|handle|have|help|highlight|improve|include|indicate|keep|let|list|look|make|match"
    r"|mention|point|prevent|read|reduce|reflect|remove|request|require|return|run|say|show|simplify|solve|support|take|tell|track|use|work"
)

# Openers that may stand before a key and change nothing.
OPENER = (
    r"(?:ok(?:ay)?|k|ah|oh|hm+|uh|erm|wait|actually|alright|all\s+right|so|right|well|great|good|cool|perfect|nice|yes|yep|yeah|yup|sí|oui|ja|genau|vale|bueno|d'accord|(?:no|nope|nein|non)(?=\s?,)|and|but|also|then|now|fyi|btw|psa|tl;?dr"
    r"|update|quick\s+update|status\s+update|status|news|(?:good|bad|great|big|breaking|sad|quick)\s+news|heads[\s-]?up|(?:please\s+)?note(?:\s+that)?|notice|reminder|important"
    r"|just\s+to\s+confirm|to\s+confirm|confirming(?:\s+that)?|confirmed|to\s+be\s+clear|for\s+the\s+record|for\s+everyone|final|final\s+answer|finally|officially|it's\s+official|official|announcement|announcing"
    r"|hi|hey|hello|hallo|hola|bonjour|salut|good\s+(?:morning|afternoon|evening)|morning|team|all|everyone|everybody|folks|guys|y'all|there|as\s+of\s+(?:today|now|this\s+morning|yesterday|\w+day)"
    r"|as\s+(?:discussed|agreed|decided|planned)|today|effective\s+immediately|just\s+so\s+(?:you|everyone)\s+knows?|the|our|unfortunately|sadly|luckily|happy\s+to\s+(?:say|announce|report)(?:\s+that)?"
    r"|(?:i'm|i\s+am|we're|we\s+are)\s+(?:happy|glad|pleased|sorry)\s+to\s+(?:say|announce|report)(?:\s+that)?|(?:i|we)\s+(?:can\s+)?(?:hereby\s+)?confirm(?:\s+that)?"
    r"|done|sounds\s+good|looks\s+good|agreed|übrigens|also|kurzes\s+update|atención|nota|info|zur\s+info)"
)
THINK = (
    r"(?:(?:i|we)\s+(?:still\s+|really\s+|kinda\s+)?(?:think|thought|believe|believed|guess|assume|assumed|suppose|understood|understand|gather|heard|saw|read|remember|recall)"
    r"|(?:(?:i'm|i\s+am|im)\s+)?(?:pretty|fairly|quite|very|almost|reasonably)\s+(?:sure|certain)|(?:i'm|i\s+am|im)\s+(?:sure|certain)"
    r"|afaik|afaict|aiui|iirc|as\s+far\s+as\s+(?:i|we)\s+(?:know|can\s+tell|understand|remember|recall)|(?:if\s+)?i\s+(?:recall|remember)\s+correctly|to\s+my\s+knowledge|to\s+the\s+best\s+of\s+my\s+knowledge"
    r"|(?:my|the)\s+understanding\s+(?:is|was)|last\s+(?:i|we)\s+(?:heard|checked|saw)|apparently|seems(?:\s+like)?|it\s+seems(?:\s+like)?|looks\s+like|it\s+looks\s+like|imo|imho|in\s+my\s+(?:view|opinion)"
    r"|ich\s+(?:glaube|denke|meine)|soweit\s+ich\s+weiß|meines\s+wissens|creo|según\s+tengo\s+entendido|je\s+(?:crois|pense)|sauf\s+erreur)"
)
# Behind a statement: it asks for a nod or hedges, and so only mentions.
TAG = r"\s(?:right|isn't\s+it|wasn't\s+it|or\s+am\s+i\s+wrong|oder|n'est-ce\s+pas)|\s?[,–—-]\s*¿?(?:right|correct|no|yes|yeah|isn't\s+it|wasn't\s+it|hasn't\s+it|(?:did|have|do|are)n't\s+we|is\s+it\s+not|true|innit|or\s+am\s+i\s+wrong|oder|richtig|nicht\s+wahr|verdad|cierto|n'est-ce\s+pas|non)"
HEDGE = (
    r"(?:\s?[,–—(-]\s*|\s)(?:i\s+(?:think|believe|guess|suppose|assume)|afaik|afaict|iirc|aiui|as\s+far\s+as\s+i\s+know|if\s+i\s+(?:recall|remember)(?:\s+correctly)?|pretty\s+sure|apparently|imo|imho"
    r"|glaube\s+ich|creo|je\s+crois)\s*\)?|\s?,\s*(?:right|correct|(?:did|have)n't\s+we|(?:is|was|has)n't\s+it)"
)
SARCASM = r"(?:^\s*not|(?:^|\s)(?:/s|/sarcasm|/jk|\(s\)|jk|j/k|just\s+kidding|lol\s+jk|not!+|—\s*not|\.\.\.\s*not|as\s+if))(?:\s*[.!\ue004]*\s*)$"

# What is only a joke, whatever stands before it: at the end of a sentence, behind a pause.
JOKE = (
    r"(?:(?:just|only|it's|its|that's)\s+)*(?:an?\s+)?(?:joke|jokes|psyche?|sike|gotcha|not|nope|nah|lies?|as\s+if|yeah,?\s+right|i\s+wish|dream\s+on|april\s+fools?(?:'?\s+day)?"
    r"|in\s+(?:my|your|our|his|her|their)\s+dreams?|when\s+pigs\s+fly|fake\s+news|or\s+so\s+(?:they|he|she|i'm|we're)\s+(?:say|says|told|think|thinks)|sort\s+of|kind\s+of|kinda|sorta|ish"
    r"|more\s+or\s+less|mostly|partly|partially|in\s+part|nearly|almost|not\s+(?:really|quite|fully|entirely|completely|yet)|wink\s+wink|witz|scherz|broma|blague)(?:\s+(?:lol|haha+|obviously|of\s+course|i\s+wish))?"
)
# Anywhere in a sentence: nobody did it, or nobody meant to, or it is being undone.
UNDONE = (
    r"(?<!not )(?<!no )(?<!without )(?<![\w'-])(?:(?:by|per|from)\s+(?:nobody|no\s?-?one|none(?!\s+other)|absolutely\s+(?:nobody|no\s?-?one)|whom?)(?=\s?(?:$|[^\w\s'-])|\s(?:ever|at\s+all|really|exactly|knows|yet))"
    r"|(?:said|says|according\s+to)\s+(?:absolutely\s+|literally\s+)?(?:nobody|no\s?-?one)|by\s+(?:mistake|accident|error)|in\s+error|accidentally|mistakenly|erroneously|wrongly|wrongfully|prematurely|inadvertently|unintentionally"
    r"|(?:kidding|joking|trolling|psych|sike)(?!\w)|(?:in\s+name\s+only|in\s+spirit(?!\w))|(?:versehentlich|aus\s+versehen|irrtümlich|por\s+error|par\s+erreur)(?!\w)"
    r"|(?:re-?opening|reverting|undoing|rolling\s+(?:it\s+)?back|will\s+(?:reopen|revert|undo))(?!\s+(?:the\s+)?(?:of|ceremony|hours?))(?=\s?(?:$|[^\w\s'-])|\s(?:it|this|that|now|again|the\s+(?:ticket|issue))\b))(?!\w)"
)
# The same as a sentence of its own, right behind the statement in its line.
UNDONE_AFTER = r"[\s(,–—-]*(?:(?:just|only|i'm|we're|i\s+am|but|oh|ok|now|that\s+was|it\s+was|was)\s+)*(?:{undone}|{joke}(?=[\s.!)]*$))"
# Sarcasm before the statement, and faces that mean the opposite.
OH_GREAT = r"\s*(?:(?:oh|ah|well|yeah|yay|wow)[\s,]+(?:great|good|joy|wonderful|lovely|perfect|nice|fantastic|brilliant|awesome|fun|super|sure)|surprise,?\s+surprise|shocker)(?:[\s,.!…:—–-]|$)"
ROLLING_EYES = r":(?:face_with_)?roll(?:ing)?_eyes:|:(?:face_with_rolling_eyes|eye_?roll|upside_down(?:_face)?|sarcasm|sarcastic|trollface|troll|clown(?:_face)?|just_kidding|jk):|[\U0001f644\U0001f643\U0001f921]"
# Written behind a text that nobody has decided yet: in brackets, or at the end behind a dash.
UNRIPE = (
    r"(?:(?:still|just|only|as|a|an|my|first|early|rough|is|for)\s)*(?:proposed|proposal|draft(?:ed)?|wip|work\s+in\s+progress|tbd|tbc|tba|pending|suggestion|suggested|idea|rfc|tentative|provisional|hypothetical"
    r"|example|sample|placeholder|template|test|unconfirmed|unofficial|undecided|not\s+(?:final(?:i[sz]ed)?|official|decided|confirmed|agreed|binding|signed)|to\s+be\s+(?:confirmed|discussed|approved|decided|announced|determined|agreed|signed|ratified|reviewed|voted|finali[sz]ed)|for\s+(?:discussion|review|comment|debate)|under\s+(?:review|discussion)"
    r"|in\s+(?:review|discussion)|open\s+for\s+\w+|needs\s+\w+|awaiting|vorschlag|entwurf|propuesta|borrador|proposition|brouillon)(?!\w)[^()\[\]\n]{0,40}"
)
# Behind a value that is cut there: it holds only in part, or somebody holds the opposite.
IN_PART = (
    r"(?<![\w'-])(?:(?:but|though|although|however|while|whereas|yet)\s+(?:[\w.'@-]+\s+){0,3}?(?:not|never|no|nobody|none|only|still|\w+n't|cannot|fails?|failing|failed|broken|breaks|reject\w*|refus\w*|den(?:y|ied|ies)|block\w*|veto\w*|oppos\w*|against)"
    r"|not\s+(?:in|on|for|by|at|with|to|from|everywhere|everyone|all|really|quite|fully|entirely|completely)|except(?:ing)?|excluding|excluded|aside\s+from|apart\s+from|other\s+than|with\s+the\s+exception|minus|barring"
    r"|only\s+(?:for|in|on|by|to|with|at|partly|partially|half)|partly|partially|in\s+part|mostly|halfway|half\s?-?done|please\s+re-?open|(?:it's\s+|that's\s+|officially\s+|all\s+)wrong|wait,?\s+no|trust\s+me\s+bro|for\s+the\s+most\s+part)(?!\w)"
)
# "Is now the most hated ticket ever" is an opinion and no value.
OPINION = (
    r"(?:(?:officially|easily|by\s+far|clearly|really|truly|simply)\s+)*(?:(?:the|our|my|your|their|one\s+of\s+the|a|among\s+the)\s+(?:\w+\s+)?(?:most|least|worst|best|longest|oldest|ugliest|weirdest|craziest|dumbest|funniest|nicest|coolest|hardest|biggest|greatest|slowest|stupidest|silliest|favou?rite)(?!\w).*"
    r"|.*\s(?:ever|of\s+all\s+times?|in\s+(?:the\s+)?history|i've\s+(?:ever\s+)?seen)"
    r"|(?:an?|such\s+an?|the|my|our)\s+(?:[\w-]+\s+){0,2}?(?:mess|joke|nightmare|disaster|pain|monster|beast|meme|legend|shame|mystery|zombie|bloodbath|headache|train\s?wreck|catastrophe|farce|circus|horror|miracle|dumpster\s+fire|thing|problem|success|hit|failure|fiasco|classic|bummer|tragedy)(?!\w).*"
    r"|\w+ing\s+(?:me|us|everyone|everybody|my)(?!\w).*|(?:[0-9]+|an?|one|two|three|four|five)\s+(?:day|week|month|year|hour)s?\s+(?:old|late|overdue|behind))"
)
# What a meeting leaves behind: titles of documents, never values.
PAPERS = (
    r"(?=.*\b(?:retro(?:spective)?s?|agenda|notes|minutes|recap|recordings?|transcript|kick-?off|stand-?up|grooming|slides|summary|action\s+items|notizen|protokoll|actas?|ordre\s+du\s+jour)\b)"
    r"(?:(?:the|our|my|a|of|and|from|for|team|sprint|meeting|call|sync|weekly|daily|monthly|final|draft|today's|yesterday's|&|\+|–|retro(?:spective)?s?|agenda|notes|minutes|recap|recordings?|transcript|kick-?off|stand-?up|grooming|refinement|planning|review|demo"
    r"|slides|deck|summary|action|items|board|doc|document|link|links|session|notizen|protokoll|actas?|ordre|du|jour|tomorrow|\w+day|[0-9][0-9.-]*)(?:[\s,/]+|$))+"
)
# Settled words that speak against; beside one that speaks for it they are a choice left open.
AGAINST = _words(
    "rejected|declined|denied|cancelled|canceled|vetoed|deferred|postponed|reopened|withdrawn|revoked|reverted|abandoned|a no-go|no-go|dropped|shelved"
    "|abgelehnt|abgesagt|zurückgestellt|rechazado|rechazada|cancelado|cancelada|rejeté|rejetée|refusé|refusée|annulé|annulée|却下|거절됨|반려|مرفوض|مرفوضة",
    "|",
)
# What is marked on a ballot; two of them beside a slash or a bar are a choice left open.
CHOICE = _words(
    "yes no maybe abstain go nogo no-go on off true false pass fail passed failed approve approved reject rejected accept decline "
    "for against pro contra con keep drop merge revert ship hold stay leave remain ja nein sí si oui non y n ok nok in out open closed"
)

# Between "we decided" and what: when, where, how.
HOW = (
    r"(?:(?:early|late)\s+on|internally|informally|unanimously|mutually|jointly|together|as\s+an?\s+\w+|(?:a\s+while|long|some\s+time)\s+ago"
    r"|(?:at|in|during|over|after|by|on)\s[^,.:;]{1,40}?)"
)
TIME = r"(?:today|yesterday|earlier|already|just\s+now|this\s+morning|last\s+(?:night|week|\w+day)|on\s+\w+day)"

# What dates and amounts look like after "is".
DATE = (
    r"(?:(?:on|by|due|for|at|from)\s+)?(?:the\s+)?(?:next\s+|this\s+|end\s+of\s+|early\s+|mid\s+|late\s+)*"
    r"(?:mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|today|tomorrow|tonight|yesterday"
    r"|(?:[0-9]{1,2}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?)?(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?(?:\s+[0-9]{1,2}(?:st|nd|rd|th)?)?(?:,?\s+[0-9]{4})?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}[./][0-9]{1,2}[./](?:[0-9]{2,4})?|q[1-4](?:\s+[0-9]{4})?|(?:next\s+)?(?:week|month|quarter|year)|noon|midnight"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lunes|martes|miércoles|jueves|viernes|lundi|mardi|mercredi|jeudi|vendredi)"
    r"(?:\s+(?:at\s+)?[0-9]{1,2}(?:[:.][0-9]{2})?\s*(?:am|pm|h|uhr)?|\s+(?:morning|afternoon|evening|noon|eod))?"
)
NUMBER = r"(?:v\.?\s?|version\s+|#|~|[$€£¥]\s?|us\$\s?)?[+-]?[0-9][0-9.,:]*[0-9kmb]?(?:\s?[a-z€$£¥°µ/]{1,12})?"
# Capitalised words that name nobody and nothing.
NO_NAME = _words(
    "wip tbd tba tbc ok okay lgtm fyi asap awesome great good bad nice cool urgent important critical high low medium big huge "
    "broken ready not no yes the a an i we you it that this there why what how when who where if so and but or hard easy "
    "blocker major minor trivial fun stupid insane amazing perfect fine right wrong true false interesting funny imo "
    "in on at under due being still almost nearly just really very too open pending unclear unknown needed blocking stuck"
)
# After `EDIT:` these speak of the message, not of what it says.
REMARK = (
    r"\b(?:typos?|spell(?:ing|ed|ings)?|misspell\w*|misspelt|format\w*|reformat\w*|grammar|punctuation|clarity|clarif\w+|wording|reword\w*|rephras\w+"
    r"|phrasing|links?|url|urls|emoji|mentions?|markdown|screenshots?|attach\w*|images?|pictures?|autocorrect|words?|sentences?|paragraphs?|footnotes?"
    r"|details?|context|message|post|thread|comment|comments|edited|readability|layout|minor|reference|references|credits?|tags?)\b"
    r"|^(?:add|adds|adding|removed?|removing|fix|fixing|correct|correcting|corrected|chang(?:ed?|ing)|updated?|updating|deleted?|delet(?:ing)|forgot|forgotten|made|making|tidied|cleaned|included?"
    r"|including|linked|moved|improved?|tweak(?:ed|s)?|oops|whoops|done|for|to|as|with|in|at|of|from|about|after|by|because|per|more|better|some|something|anything|everything"
    r"|other|another|every|only|sorry|found|figured|got|now\s+with|wrong|missing|duplicate|ignore|disregard|no|well|and|but|so|also|the\s+other|this|these|those)\b(?=\s|$|:)"
    r"|^(?:added|fixed|corrected)\s|\s(?:is|are|was|were|has|have|had|will|works?|worked|did|does)(?:\s|$)|n't\b"
)
# After `EDIT:`, before what is right: an admission, and no value.
NOT_SO = (
    r"(?:(?:actually|wrong|incorrect|false|not\s+true|not\s+so|untrue|(?:no|nope|nah|nein|non)(?=\s?(?:$|[,.;:!—–-]))|oops|whoops|sorry|my\s+bad|my\s+mistake|i\s+was\s+wrong|that\s+was\s+wrong|that's\s+wrong|in\s+fact|rather|make\s+that|(?:as\s+)?it\s+turns\s+out|turns\s+out"
    r"|well|ok|okay|so|and|but|scratch\s+that|strike\s+that|i\s+meant?|meant|should\s+(?:be|read)|changed\s+to)(?!\w)[\s,:;.!…–—-]*)+"
)
# After `EDIT:` these say that what was said does not hold, even where what holds cannot be read.
DENIES = (
    r"\b(?:not|never|nope|nah|no(?=[\s,.!]*$)|no\s+longer|wrong|incorrect|false|untrue|mistake|mistaken|actually|instead|undone|reversed|overturned|overruled|retracted|withdrawn|outdated|obsolete|vetoed"
    r"|nobody|changed\s+(?:\w+\s+)?minds?|(?:is|was|has|does|did|have|are|were)n't)(?!\w)"
)
# After `EDIT:` this is about the message itself.
ABOUT_MESSAGE = (
    r"^(?:fixed|corrected|closed|resolved|dropped|killed|scrapped)\s+(?:the|an?|my|some|this)\b|\b(?:typos?|spell\w*|misspel\w*|(?:re)?format\w*|grammar|punctuation|clarity|clarif\w+|(?:re)?wording|(?:re)?phras\w+|links?|urls?|emoji|mentions?|markdown|screenshots?"
    r"|attach\w*|images?|pictures?|autocorrect|words?|sentences?|paragraphs?|details?|context|message|post|thread|channel|readability|layout|credits?|tags?|thanks)\b"
)
# The author takes back what stands before it.
TAKEN_BACK = (
    r"(?:(?:oh|no|wait|actually|ah|hm+)[\s,]{1,2}){0,2}(?:scratch\s+that|strike\s+that|ignore\s+(?:that|this|my)|never\s*mind|nvm"
    r"|wrong\s+(?:channel|thread|ticket|one)|just\s+kidding|(?:jk|kidding)(?![\w-]))(?!\w)"
)
# A heading over lines that decide nothing, and a line after which everything is somebody else's.
HEADING = (
    r"\b(?:proposals?|proposed|suggestions?|options?|agenda|to\s*-?do|todos|to\s+discuss|discussion|open\s+(?:questions?|items|points|issues)|questions?|examples?|e\.g\.?|ideas?|draft|template|format|syntax|usage"
    r"|for\s+instance|for\s+example|like\s+this|like\s+so|vote|voting|candidates|vorschlag|vorschläge|beispiele?|optionen|propuestas?|ejemplos?|propositions?|exemples?)(?:\s+\w+){0,3}\s*:$"
)
FORWARD = (
    r"(?:[-_=\s]*(?:begin\s+)?forwarded(?:\s+(?:message|from|by|mail|email).*)?\b[-_:\s]*.*|fwd?:.*|wg:.*|[-_=\s]*original\s+message.*|quoting\s.{0,80}:?|from\s+the\s+(?:email|e-mail|mail|doc|ticket).{0,40}:|(?:copied|pasted|copy|paste)\s+from.{0,60}"
    r"|.{0,120}\b(?:wrote|writes|said|says|schrieb|escribió|a\s+écrit)\s*:)"
)
ABBREVIATION = r"(?:\b(?:e\.g|i\.e|vs|approx|dr|mr|mrs|ms|st|no|nr|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|inc|ltd|ca|z\.b|bzw|usw|p|pp|fig|ver|v)|[0-9])$"
