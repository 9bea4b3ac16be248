"""Messages as people write them (our own, no real ones), each with what it states.

A third of them state nothing: reading those right is what keeps the bot installed.
"""

from datetime import UTC, datetime

import pytest

from extraction import Known, Passage, Window
from extraction.rules import Rules

PEOPLE = {"UMAYA": "Maya", "UBEN": "Ben Ortiz", "UANA": "Ana"}
ENTITIES = (
    Known(id="launch-date", name="the launch date", aliases=("launch date", "go-live")),
    Known(id="api_limit", name="API limit", aliases=("API limit",), values=("100 rps", "60 rps")),
)
RULES = Rules()

# text, then what it states: "entity = value", "~" before a mention, ">PERSON" after a report.
CHAT: list[tuple[str, list[str]]] = [
    ("decision-42: we go with Postgres :elephant:", ["decision-42 = we go with Postgres"]),
    ("OK folks, decision-42 is approved 🎉🎉", ["decision-42 = approved"]),
    ("heads up: OPS-17 is fixed, deploy went out at 3", ["ops-17 = fixed"]),
    ("<!channel> *REL-9* is postponed, sorry all", ["rel-9 = postponed"]),
    ("quick update: OPS-204 is closed. Thanks <@UBEN>!", ["ops-204 = closed"]),
    ("and we're back. OPS-204 is reopened :disappointed:", ["ops-204 = reopened"]),
    ("just talked to legal. decision-42: approved", ["decision-42 = approved"]),
    ("decision-42 has now been approved by the board", ["decision-42 = approved"]),
    ("launch date -&gt; 8 December (was 1 Dec)", ["launch-date = 8 December (was 1 Dec)"]),
    ("The launch date is now the week after Easter", ["launch-date = the week after Easter"]),
    ("go-live moved to Monday", ["launch-date = Monday"]),
    ("API limit changed from 60 rps to 100 rps", ["api_limit = 100 rps"]),
    ("API limit is 60 rps", ["api_limit = 60 rps"]),
    (
        "standup:\n- OPS-17: done\n- OPS-18: paused until Ana is back",
        ["ops-17 = done", "ops-18 = paused until Ana is back"],
    ),
    ("Decision: no on-call over the holidays", ["1 = no on-call over the holidays"]),
    (
        "Notes from today\n*Decision:* we keep the old logo\n*Decision:* new site in March",
        ["2 = we keep the old logo", "3 = new site in March"],
    ),
    (
        "long thread, but in the end we agreed that Ben owns the migration",
        ["1 = Ben owns the migration"],
    ),
    ("we've decided to sunset the v1 API on 1 June", ["1 = sunset the v1 API on 1 June"]),
    ("we decided to postpone REL-9", ["rel-9 = postponed"]),
    ("For REL-9 we agreed to skip the beta", ["rel-9 = skip the beta"]),
    ("told <@UMAYA> that decision-42 is approved", ["decision-42 = approved >UMAYA"]),
    ("I let <@UBEN> know OPS-17 is fixed, he'll retest", ["ops-17 = fixed >UBEN"]),
    (
        "I've just told @Ben Ortiz that the launch date is 8 December",
        ["launch-date = 8 December >UBEN"],
    ),
    ("<@UMAYA> told me OPS-17 is closed", ["~ops-17 = closed"]),
    ("iirc decision-42 was rejected", ["~decision-42 = rejected"]),
    ("I thought decision-42 is approved", ["~decision-42 = approved"]),
    ("OPS-17 is live, right?", ["~ops-17 = live"]),
    ("decision-42 is rejected afaik", ["~decision-42 = rejected"]),
    ("REL-9: ~friday~ monday", ["rel-9 = monday"]),
    ("REL-9: friday\nEDIT: REL-9: monday (Ana is out)", ["rel-9 = monday (Ana is out)"]),
    ("OPS-17 needs another look (Edit: it's fixed)", ["ops-17 = fixed"]),
    ("decision-42: approved. sorry, I meant rejected!!", ["decision-42 = rejected"]),
    ("decision-42 ist jetzt genehmigt, danke euch", ["decision-42 = genehmigt"]),
    ("equipo, decision-42 está aprobada", []),  # an opener we do not know
    ("decision-42 está aprobada", ["decision-42 = aprobada"]),
    ("decision-42 est validée", ["decision-42 = validée"]),
    ("REL-9は延期です", ["rel-9 = 延期"]),
    ("REL-9: 12월 8일", ["rel-9 = 12월 8일"]),
    (
        "is OPS-17 in yet? asking for a customer. decision-42: approved btw",
        ["decision-42 = approved"],
    ),
    ("decision-42 is approved and REL-9 is on hold", ["decision-42 = approved", "rel-9 = on hold"]),
    ("morning! anyone know where decision-42 stands?", []),
    ("can someone approve decision-42 today?", []),
    ("decision-42 should really be approved by now", []),
    ("if decision-42 is approved, ping me", []),
    ("I'd love it if decision-42: approved", []),
    ("decision-42 is blocked on what again?", []),
    ("decision-42 isn't approved, stop deploying", []),
    ("OPS-17: looking into it", []),
    ("OPS-17: can't repro on staging", []),
    ("OPS-17: <https://example.org/pr/12>", []),
    ("PR-12: LGTM", []),
    ("OPS-17 is a nightmare lol", []),
    ("OPS-17 is 80% done", []),
    ("&gt; decision-42: approved\nwho said that", []),
    ("proposal:\n- decision-42: approved\n- REL-9: friday", []),
    ("decision-42: approved, unless anyone objects by 5", []),
    ("decision-42: approved /s", []),
    ("we almost agreed to ship friday", []),
    ("I wish we decided things faster", []),
    ("the doc says decision-42 is approved but I doubt it", []),
    ("let me know when decision-42 is approved", []),
    ("set `LOG_LEVEL-3: debug` in the env", []),
    ("the file is at /var/log/ops-17: have a look", []),
    ("AGREED: the retro moves to Thursday", ["1 = the retro moves to Thursday"]),
    ("#agreed no release before Easter", ["1 = no release before Easter"]),
    ("minutes: it was agreed that Ana chairs in May", ["1 = Ana chairs in May"]),
    ("we decided at yesterday's call to drop arm builds :)", ["1 = drop arm builds"]),
    ("hm, I thought OPS-17 was closed", ["~ops-17 = closed"]),
    ("no, OPS-17 is reopened", ["ops-17 = reopened"]),
    ("heard from <@UMAYA> that decision-42 is rejected", ["~decision-42 = rejected"]),
    ("we agreed to move the launch date to Friday", ["launch-date = Friday"]),
    ("PROPOSED: the retro moves to Thursday", []),
    ("ACTION: Ana to move the retro", []),
    ("we agreed to look into it", []),
    ("we decided on a date!", []),
    ("had we decided to use Java, we'd be done", []),
    ("yeah right, OPS-17 is fixed", []),
    ("OPS-17: Upload of large files times out", []),
    ("OPS-17: rebasing, back in ten", []),
    ("today:\n- OPS-17: write the docs\n- OPS-18: review", []),
    ("jo_77: the build is green again", []),
    ("[10:32] &lt;maya&gt; decision-42: approved", []),
    ("build-3 -&gt; test-3 -&gt; deploy-3", []),
    ("UTF-8 is fine, ISO-8859 is not", []),
    ("COVID-19 is over, back to the office", []),
    ("slides are here <https://example.org/talk-2016|talk-2016.pdf>", []),
]


def stated(text: str) -> list[str]:
    at = datetime(2027, 1, 4, tzinfo=UTC)
    passage = Passage(id="m", author="UANA", room="C1", at=at, text=text)
    w = Window(passages=(passage,), people=PEOPLE, entities=ENTITIES)
    return [
        f"{'' if s.decides or s.about else '~'}{s.entity.removeprefix('decided-m-')} = {s.value}"
        + (f" >{s.about}" if s.about else "")
        for s in RULES.extract(w)
    ]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(t, e, id=t[:50]) for t, e in CHAT])
def test_chat_is_read_as_people_mean_it(text: str, expected: list[str]) -> None:
    assert stated(text) == expected


def test_a_third_of_the_chat_states_nothing() -> None:
    assert len(CHAT) >= 60
    assert sum(not expected for _, expected in CHAT) * 3 >= len(CHAT)
