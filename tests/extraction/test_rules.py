"""The deterministic rules, row by row of the contract's table, and each way of saying nothing."""

import json
import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction import Known, Passage, Statement, Window
from extraction.rules import SETTLED, STOP, Rules, entity_id

AT = datetime(2027, 1, 4, 9, tzinfo=UTC)
PEOPLE = {"U1": "Maya", "U2": "Ben Ortiz", "U3": "李雷", "U9": "Ana"}
ENTITIES = (
    Known(
        id="launch-date",
        name="the launch date",
        aliases=("launch date", "発売日", "fecha de lanzamiento"),
        values=("8 December",),
    ),
    Known(id="retries", name="retries", values=("blue",)),
    Known(id="decision-7", name="Decision 7", values=("plan b",)),
)
RULES = Rules()


class Says(NamedTuple):
    """What a statement is expected to be; `decided-…` is written without the message id."""

    entity: str
    value: str
    how: str = "decides"  # or mentions, or the id of the person a report is about


def window(text: str, **fields: object) -> Window:
    passage = Passage.model_validate(
        {"id": "C1:1800.0001", "author": "U9", "room": "C1", "at": AT, "text": text, **fields}
    )
    threads = {"T1": "decided-T1-1", "T2": "decision-42"}
    return Window(passages=(passage,), people=PEOPLE, entities=ENTITIES, threads=threads)


def said(statements: list[Statement]) -> list[Says]:
    return [
        Says(
            s.entity.removeprefix("decided-C1-1800-0001-"),
            s.value,
            s.about or ("decides" if s.decides else "mentions"),
        )
        for s in statements
    ]


def extract(text: str, **fields: object) -> list[Statement]:
    return RULES.extract(window(text, **fields))


APPROVED = [Says("decision-42", "approved")]
BLUE, GREEN = [Says("decision-42", "blue")], [Says("decision-42", "green")]
MENTIONED = [Says("decision-42", "approved", "mentions")]

DECIDES: list[tuple[str, list[Says]]] = [
    # KEY: approved, and its relatives
    ("decision-42: approved", APPROVED),
    ("decision-42:approved", APPROVED),
    ("Decision-42 : approved.", APPROVED),
    ("decision-42 = approved", APPROVED),
    ("decision-42 -> approved", APPROVED),
    ("decision-42 -&gt; approved", APPROVED),
    ("decision-42 → approved", APPROVED),
    ("decision-42 => approved!", APPROVED),
    ("- decision-42: approved", APPROVED),
    ("• decision-42: approved", APPROVED),
    ("1. decision-42: approved", APPROVED),
    (":tada: decision-42: approved :tada:", APPROVED),
    ("✅ decision-42: approved 🎉", APPROVED),
    ("<@U1> decision-42: approved", APPROVED),
    ("<!here> decision-42: approved", APPROVED),
    ("@channel decision-42: approved", APPROVED),
    ("decision-42: “approved”", APPROVED),
    ("decision-42: `approved`", APPROVED),
    ("decision-42 is `approved`", APPROVED),
    ("decision-42: (approved)", APPROVED),
    ("decision-42: approved :white_check_mark: <@U1> <@U2>", APPROVED),
    ("decision-42: approved cc <@U1>", APPROVED),
    ("decision-42: ship it 🎉 <@U1>", [Says("decision-42", "ship it")]),
    ("decision-42 changed to green", [Says("decision-42", "green")]),
    ("*decision-42*: approved", APPROVED),
    ("**decision-42:** approved", APPROVED),
    ("_decision-42_: *approved*", APPROVED),
    ("Good morning all. decision-42: approved", APPROVED),
    ("decision-42 (the postgres thing): approved", APPROVED),
    ("[decision-42]: approved", APPROVED),
    ("we decided decision-42: approved", APPROVED),
    ("We've decided that decision-42 is approved", APPROVED),
    ("we agreed on decision-42: approved", APPROVED),
    ("decision: decision-42 approved", APPROVED),
    ("decision-42 changed from x to approved", APPROVED),
    ("decision-42 has changed from x to approved", APPROVED),
    ("decision-42 moved to approved", APPROVED),
    ("decision-42 was moved from rejected to approved", APPROVED),
    ("we moved decision-42 to approved", APPROVED),
    ("decision-42: draft -> approved", APPROVED),
    ("decision-42: ship friday", [Says("decision-42", "ship friday")]),
    ("OPS-17 = rolled back", [Says("ops-17", "rolled back")]),
    ("refund_4411: denied", [Says("refund_4411", "denied")]),
    ("decision-42: option B (cheaper)", [Says("decision-42", "option B (cheaper)")]),
    ("decision-42: red, green and blue", [Says("decision-42", "red, green and blue")]),
    ("decision-42: mon – fri", [Says("decision-42", "mon – fri")]),
    ("decision-42: 10:30", [Says("decision-42", "10:30")]),
    ("decision-42: turn right", [Says("decision-42", "turn right")]),
    ("decision-42: R&amp;D &lt;v2&gt;", [Says("decision-42", "R&D <v2>")]),
    ("decision-42: approved, because legal signed", APPROVED),
    ("decision-42: approved because legal signed", APPROVED),
    ("decision-42: approved, thanks everyone", APPROVED),
    ("decision-42: approved, let me know if you have any questions", APPROVED),
    ("decision-42: approved — legal signed", APPROVED),
    ("decision-42 is approved, see <https://example.org/minutes>", APPROVED),
    ("decision-42: approved <https://example.org/minutes>", APPROVED),
    ("<https://jira.example.org/browse/OPS-17|OPS-17>: fixed", [Says("ops-17", "fixed")]),
    ("[OPS-17](https://jira.example.org/x): fixed", [Says("ops-17", "fixed")]),
    ("decision-42: approved <https://example.org/a|example.org/a>", APPROVED),
    ("decision-42: approved <:party:123456789>", APPROVED),
    ("decision-42: post in <#C2|legal>", [Says("decision-42", "post in #legal")]),
    ("we decided decision-42 to be approved", APPROVED),
    # KEY is approved
    ("decision-42 is approved at https://example.org", APPROVED),
    ("decision-42 is 8 Dec. 2026", [Says("decision-42", "8 Dec. 2026")]),
    ("decision-42 is approved", APPROVED),
    ("decision-42 is now approved", APPROVED),
    ("decision-42's approved", APPROVED),
    ("decision-42’s now approved", APPROVED),
    ("decision-42 has been approved", APPROVED),
    ("decision-42 is approved by legal today", APPROVED),
    ("decision-42 is approved please deploy", APPROVED),
    ("decision-42 just got approved!", APPROVED),
    ("ok so decision-42 is approved, thanks all!", APPROVED),
    ("FYI decision-42 is approved", APPROVED),
    ("After the call with legal, decision-42 is approved.", APPROVED),
    ("decision-42 is now mauve", [Says("decision-42", "mauve")]),
    ("decision-42 is mauve now", [Says("decision-42", "mauve")]),
    ("decision-42 is on hold", [Says("decision-42", "on hold")]),
    ("decision-42 is live in production", [Says("decision-42", "live in production")]),
    ("decision-42 is 8 December", [Says("decision-42", "8 December")]),
    ("decision-42 is on Friday", [Says("decision-42", "Friday")]),
    ("decision-42 is 2027-03-01", [Says("decision-42", "2027-03-01")]),
    ("decision-42 is $500", [Says("decision-42", "$500")]),
    ("decision-42 is v2.1.", [Says("decision-42", "v2.1")]),
    ("decision-42 is Postgres", [Says("decision-42", "Postgres")]),
    ("decision-42 is “R&amp;D &lt;v2&gt;”", [Says("decision-42", "R&D <v2>")]),
    ("decision-42 is <@U1>", [Says("decision-42", "@Maya")]),
    ("decision-42 is maya", [Says("decision-42", "maya")]),
    ("decision-7 is plan b", [Says("decision-7", "plan b")]),
    ("decision-42 ist genehmigt", [Says("decision-42", "genehmigt")]),
    ("decision-42 está aprobado", [Says("decision-42", "aprobado")]),
    ("decision-42 est approuvé", [Says("decision-42", "approuvé")]),
    ("decision-42は承認済み", [Says("decision-42", "承認済み")]),
    ("decision-42は承認済みです。", [Says("decision-42", "承認済み")]),
    ("decision-42는 승인됨", [Says("decision-42", "승인됨")]),
    ("decision-42： 承認", [Says("decision-42", "承認")]),
    ("\u200fdecision-42\u200f: موافق", [Says("decision-42", "موافق")]),
    # several in one sentence
    (
        "decision-42: approved and decision-43: rejected",
        [Says("decision-42", "approved"), Says("decision-43", "rejected")],
    ),
    (
        "decision-42 is approved but decision-43 is rejected",
        [Says("decision-42", "approved"), Says("decision-43", "rejected")],
    ),
    (
        "decision-42 is approved, decision-43 is on hold",
        [Says("decision-42", "approved"), Says("decision-43", "on hold")],
    ),
    (
        "decision-42 and decision-43 are approved",
        [Says("decision-42", "approved"), Says("decision-43", "approved")],
    ),
    (
        "decision-42: approved\ndecision-43: rejected",
        [Says("decision-42", "approved"), Says("decision-43", "rejected")],
    ),
    ("decision-42: same as decision-41", []),
    ("decision-42: merge with decision-41", [Says("decision-42", "merge with decision-41")]),
    ("Is decision-43 approved? decision-42: approved", APPROVED),
    ("decision-42: approved. Is decision-43 approved?", APPROVED),
    # aliases and words in backticks
    ("launch date: 9 December", [Says("launch-date", "9 December")]),
    ("The launch date is Friday", [Says("launch-date", "Friday")]),
    ("発売日は延期", [Says("launch-date", "延期")]),
    ("Fecha de lanzamiento: 9 de diciembre", [Says("launch-date", "9 de diciembre")]),
    ("`retries` is now 5", [Says("retries", "5")]),
    ("`Decision-7`: plan c", [Says("decision-7", "plan c")]),
    ("we decided `timeout`: 5", [Says("timeout", "5")]),
    ("decision: `timeout` = 5", [Says("timeout", "5")]),
    ("`timeout` changed from 5 to 10", [Says("timeout", "10")]),
    # what is cut leaves no preposition behind
    ("decision-42 is approved for now", APPROVED),
    ("decision-42: approved for now", APPROVED),
    ("decision-42 is approved for the team", APPROVED),
    ("decision-42 is paused until now", [Says("decision-42", "paused")]),
    ("decision-42 is mauve for now", [Says("decision-42", "mauve")]),
    ("decision-42 is paused until tomorrow", [Says("decision-42", "paused until tomorrow")]),
    # a mention at the end calls somebody; a value may be a person
    ("decision-42: friday <@U2>", [Says("decision-42", "friday")]),
    ("decision-42: friday, <@U2> fyi", [Says("decision-42", "friday")]),
    ("decision-42: friday fyi <@U2>", [Says("decision-42", "friday")]),
    ("decision-42: friday <@U2> please", [Says("decision-42", "friday")]),
    ("decision-42: friday, thanks <@U2>", [Says("decision-42", "friday")]),
    ("decision-42: friday ping <@U2>", [Says("decision-42", "friday")]),
    ("decision-42: friday cc <@U2> <@U3>", [Says("decision-42", "friday")]),
    ("decision-42: friday (cc <@U2>, <@U3>)", [Says("decision-42", "friday")]),
    ("decision-42: option (b) @maya", [Says("decision-42", "option (b)")]),
    ("decision-42: friday <!here>", [Says("decision-42", "friday")]),
    ("owner-7: <@U2>", [Says("owner-7", "@Ben Ortiz")]),
    ("owner-7: <@U2> and <@U1>", [Says("owner-7", "@Ben Ortiz and @Maya")]),
    ("owner-7: <@U2>, <@U1> fyi", [Says("owner-7", "@Ben Ortiz")]),
    ("owner-7: owned by <@U2>, <@U1> fyi", [Says("owner-7", "owned by @Ben Ortiz")]),
    ("decision-42: ask <@U2>", [Says("decision-42", "ask @Ben Ortiz")]),
    # "or" inside a longer phrase, a bound, a negation
    (
        "decision-42: fall back to the cache or show an error page",
        [Says("decision-42", "fall back to the cache or show an error page")],
    ),
    ("decision-42: 3 or more", [Says("decision-42", "3 or more")]),
    ("decision-42: no calls or meetings", [Says("decision-42", "no calls or meetings")]),
    ("decision-42: open", [Says("decision-42", "open")]),
    # a deadline beside a value is part of it, a name is no deadline
    ("decision-42: ship by friday", [Says("decision-42", "ship by friday")]),
    ("decision-42: live tomorrow", [Says("decision-42", "live tomorrow")]),
    ("decision-42 is approved by Finance", APPROVED),
    ("decision-42 is approved by Monday Inc", APPROVED),
    ("decision-42 is live in 3 regions", [Says("decision-42", "live in 3 regions")]),
    ("decision-42 has been fixed in 2 hours", [Says("decision-42", "fixed in 2 hours")]),
    ("decision-42 is postponed by 3 days", [Says("decision-42", "postponed")]),
    ("decision-42: ignore that flag", [Says("decision-42", "ignore that flag")]),
    ("decision-42: error correction: on", [Says("decision-42", "error correction: on")]),
    # whatever stands behind the key of a decision, and short values of a tracker's key
    (
        "decision-42: add a retry to the uploader",
        [Says("decision-42", "add a retry to the uploader")],
    ),
    ("decision-42: the default is blue", [Says("decision-42", "the default is blue")]),
    ("decision-42: Move the office to Lund", [Says("decision-42", "Move the office to Lund")]),
    ("OPS-17: in progress", [Says("ops-17", "in progress")]),
    ("OPS-17: In Progress", [Says("ops-17", "In Progress")]),
    ("we decided to move the launch date to Friday", [Says("launch-date", "Friday")]),
    ("we agreed to raise decision-42 to 40 seats", [Says("decision-42", "40 seats")]),
    ("OPS-17: we roll back to the old build", [Says("ops-17", "we roll back to the old build")]),
    ("OPS-17: no fix before the release", [Says("ops-17", "no fix before the release")]),
    (
        "OPS-17: fixed in the build from Tuesday",
        [Says("ops-17", "fixed in the build from Tuesday")],
    ),
    ("bug-17: fixed", [Says("bug-17", "fixed")]),
    ("refund_4411: pay half of it in cash", [Says("refund_4411", "pay half of it in cash")]),
    ("OPS-17 is closed fixed", [Says("ops-17", "closed fixed")]),
    ("budget-27 is $40k, finance put it in the sheet", [Says("budget-27", "$40k")]),
    ("decision-42: approved :)", APPROVED),
    ("decision-42: approved lol", APPROVED),
    ("decision-42 is approved as well", APPROVED),
    ("no, decision-42 is approved", APPROVED),
    ("oh wait, decision-42 is approved", APPROVED),
    ("told you.\n10:30 decision-42: approved", []),
]

MENTIONS: list[tuple[str, list[Says]]] = [
    ("I think decision-42 is approved", MENTIONED),
    ("afaik decision-42 is approved", MENTIONED),
    ("AFAIK, decision-42 has been approved", MENTIONED),
    ("as far as I know decision-42: approved", MENTIONED),
    ("pretty sure decision-42 is approved", MENTIONED),
    ("decision-42 is approved I think", MENTIONED),
    ("decision-42 is still approved", MENTIONED),
    ("decision-42 was approved, right?", MENTIONED),
    ("decision-42 is approved, right?", MENTIONED),
    ("decision-42 was approved, right", MENTIONED),
    ("decision-42 was approved yesterday", MENTIONED),
    ("<@U2> told me decision-42 is approved", MENTIONED),
    ("the client told me that decision-42 is approved", MENTIONED),
    ("I was told decision-42 is approved", MENTIONED),
    ("heard from <@U2> that decision-42 is approved", MENTIONED),
    ("je crois que decision-42 est approved", MENTIONED),
    ("told <@U1> decision-42 is approved", [Says("decision-42", "approved", "U1")]),
    ("told <@U1> that decision-42 is approved", [Says("decision-42", "approved", "U1")]),
    ("I’ve told <@U1> that decision-42 was approved", [Says("decision-42", "approved", "U1")]),
    ("I let @maya know decision-42 is approved", [Says("decision-42", "approved", "U1")]),
    ("I let @ben.ortiz know decision-42: approved", [Says("decision-42", "approved", "U2")]),
    ("I told @Ben Ortiz that decision-42 is approved", [Says("decision-42", "approved", "U2")]),
    (
        "told <@U1> and <@U2> that decision-42 is approved",
        [Says("decision-42", "approved", "U1"), Says("decision-42", "approved", "U2")],
    ),
    (
        "I told <@U1> that decision-42 is approved and decision-43 is rejected",
        [Says("decision-42", "approved", "U1"), Says("decision-43", "rejected", "U1")],
    ),
]

IN_WORDS: list[tuple[str, list[Says]]] = [
    ("decision: no freeze this year", [Says("1", "no freeze this year")]),
    ("Decision: no freeze this year.", [Says("1", "no freeze this year")]),
    ("- *Decision:* no freeze this year", [Says("1", "no freeze this year")]),
    ("hi all\ndecision: docs should be in English", [Says("2", "docs should be in English")]),
    ("after a long chat we decided that we ship on Friday", [Says("1", "we ship on Friday")]),
    ("We've agreed to ship on Friday", [Says("1", "ship on Friday")]),
    ("we agreed releases happen on Fridays", [Says("1", "releases happen on Fridays")]),
    ("so we decided, no freeze", [Says("1", "no freeze")]),
    ("we decided not to approve decision-42", []),
    ("we decided against decision-42", []),
    ("we decided that decision-42 is not approved", []),
    ("we agreed that decision-42 should be approved", []),
    ("we decided not to freeze", [Says("1", "not to freeze")]),
    ("Entscheidung: kein Freeze dieses Jahr", [Says("1", "kein Freeze dieses Jahr")]),
    ("decision: a\nthen lunch\ndecision: b", [Says("1", "a"), Says("3", "b")]),
    ("we decided x is out. we agreed y is in.", [Says("1", "x is out"), Says("1b2", "y is in")]),
    ("decision: " + "yes " * 49 + "end", [Says("1", "yes " * 49 + "end")]),
    ("decision: " + "yes " * 50 + "end", []),
    # as scribes write for a meeting's bot, and as minutes put it
    ("RESOLVED: publish the draft as a note", [Says("1", "publish the draft as a note")]),
    ("RESOLUTION: publish the draft", [Says("1", "publish the draft")]),
    ("AGREED: meet on Tuesdays instead", [Says("1", "meet on Tuesdays instead")]),
    ("#agreed ship without search", [Says("1", "ship without search")]),
    ("it was decided that interns get laptops", [Says("1", "interns get laptops")]),
    ("Resolved: the printer works again", []),
    ("resolution: restarted the server", []),
    ("RESOLVED: fixed", []),
    ("PROPOSED: publish the draft", []),
    ("PROPOSED RESOLUTION: publish the draft", []),
    ("ACTION: Maya to publish the draft", []),
    ("#action Maya to publish the draft", []),
    ("Maya: we decided to publish the draft", []),
    ("[10:32] maya: we decided to publish", []),
    ("10:32 <maya> we decided to publish", []),
    # when, where and how are no part of it
    ("we decided early on to use Postgres", [Says("1", "use Postgres")]),
    ("we agreed at the meeting that interns get laptops", [Says("1", "interns get laptops")]),
    ("we decided as a group to stop", [Says("1", "stop")]),
    # a form without content
    ("we decided not to", []),
    ("we agreed to:", []),
    ("we decided the following:", []),
    ("we decided on a date", []),
    ("we agreed on the color", []),
    ("we decided against it", []),
    ("we decided to do that", []),
    ("we decided to look into it", []),
    ("we agreed to revisit this in May", []),
    ("we agreed to postpone the decision", []),
    ("we agreed we need more time", []),
    ("iirc we decided to use Postgres", []),
    ("pretty sure we agreed to use Postgres", []),
    ("had we decided to use Postgres, this would work", []),
    ("decision: maya will decide", []),
    # a key or an alias beside it binds
    ("we decided to reject decision-42", [Says("decision-42", "rejected")]),
    ("decision: ship friday (decision-42)", [Says("decision-42", "ship friday")]),
    ("[decision-42] we decided to ship friday", [Says("decision-42", "ship friday")]),
    ("for decision-42 we agreed no freeze", [Says("decision-42", "no freeze")]),
    ("decision-42: we decided to ship friday", [Says("decision-42", "ship friday")]),
    ("we decided launch date: 9 December", [Says("launch-date", "9 December")]),
    # nothing
    ("if we decided to ship friday, it would break", []),
    ("I thought we agreed to ship friday", []),
    ("we haven't decided yet", []),
    ("have we decided to ship friday?", []),
    ("we agreed.", []),
    ("we agreed to disagree", []),
    ("we decided together", []),
    ("decision: not made", []),
    ("we decided how to do it", []),
    ("at my last company we decided to use java", []),
    ("Maya said we decided to ship friday", []),
    ('Maya: "we decided to ship friday"', []),
    ("decision: pending", []),
    ("decision: TBD", []),
    ("decision: should we ship friday", []),
    ("decision: ship friday?", []),
    ("decision: ship friday unless anyone objects", []),
    ("decision: https://example.org/minutes", []),
    ("decision: see the minutes", []),
    ("decision: ✅", []),
    ("no decision: we talk again tomorrow", []),
    ("decision: we'll decide tomorrow", []),
    ("decision: we will decide next week", []),
    ("decision: will be made tomorrow", []),
    ("decision: not yet", []),
    ("decision: none yet", []),
    ("decision: still open", []),
    ("we decided nothing", []),
    ("we decided nothing yet", []),
    ("we decided to decide later", []),
    ("we decided not to decide", []),
    ("we agreed that we'll decide tomorrow", []),
    ("decision: nothing changes", [Says("1", "nothing changes")]),
    ("decision: blue or green", []),
    ("decision: no meetings or calls", [Says("1", "no meetings or calls")]),
    ("decision: ship friday, cc <@U2>", [Says("1", "ship friday")]),
    ("decision: we hire <@U2>", [Says("1", "we hire @Ben Ortiz")]),
]

# Words that look like doubt and take nothing back.
UNSHAKEN: list[tuple[str, list[Says]]] = [
    ("decision-42: +2 weeks", [Says("decision-42", "+2 weeks")]),
    ("decision-42: -5", [Says("decision-42", "-5")]),
    ("decision-42: blue, not green", [Says("decision-42", "blue, not green")]),
    ("decision-42 is approved, not rejected", [Says("decision-42", "approved")]),
    ("decision-42: CI/CD", [Says("decision-42", "CI/CD")]),
    ("decision-42: approved but we need to tell Tom", [Says("decision-42", "approved")]),
    ("decision-42 is approved 🎉", [Says("decision-42", "approved")]),
    ("OPS-17 is fixed again", [Says("ops-17", "fixed")]),
    ("great, OPS-17 is fixed", [Says("ops-17", "fixed")]),
    ("OPS-17 / OPS-18 are fixed", [Says("ops-17", "fixed"), Says("ops-18", "fixed")]),
    ("decision-42: approved (was rejected)", APPROVED),
    ("decision-42 is approved, not rejected", APPROVED),
    ("decision-42 is approved, merged and live", APPROVED),
    ("no kidding, OPS-17 is fixed", [Says("ops-17", "fixed")]),
    ("in case you missed it, we agreed to use Kafka", [Says("1", "use Kafka")]),
    ("decision: up to 5 retries", [Says("1", "up to 5 retries")]),
    ("1. decision-41: red\n2. decision-42: blue", [Says("decision-41", "red"), *BLUE]),
    ("decision-42: approved. I deleted the doc by mistake", APPROVED),
    ("decision-42: approved\nBy mistake I deleted the doc", APPROVED),
    ("decision-42: the best option", [Says("decision-42", "the best option")]),
]

CORRECTED: list[tuple[str, list[Says]]] = [
    ("decision-42: ~rejected~ approved", APPROVED),
    ("decision-42: ~~rejected~~ approved", APPROVED),
    ("~decision-42: rejected~ decision-42: approved", APPROVED),
    ("~decision-42: rejected~", []),
    ("decision-42: rejected\nEDIT: decision-42: approved", APPROVED),
    ("decision-42: rejected. EDIT: approved", APPROVED),
    ("decision-42: approved EDIT: typo", APPROVED),
    ("decision-42: approved\nEDIT: formatting", APPROVED),
    ("decision-42: approved. Edit: Spelling", APPROVED),
    ("EDIT: typo", []),
    ("decision-42: rejected [UPDATE: decision-42 is approved]", APPROVED),
    ("decision-42 is in review (Edit: it's approved)", APPROVED),
    ("decision-42: rejected, sorry, I meant approved", APPROVED),
    ("decision-42: rejected. Sorry, I meant approved", APPROVED),
    ("decision-42: red. Correction: it's approved", APPROVED),
    ("decision-42: red. Correction: it's Blue", [Says("decision-42", "Blue")]),
    ("decision-41: approved. sorry, I meant decision-42", APPROVED),
    ("decision-41: rejected. oops, I meant decision-42: approved", APPROVED),
    ("decision-42: approved. Sorry, I meant to reply earlier", APPROVED),
    ("decision-42: rejected. sorry, I meant something with more colour", []),
    ("decision-42: approved. scratch that", []),
    ("scratch that, decision-42: approved", APPROVED),
    (
        "decision: ship friday\nEDIT: decision: ship monday",
        [Says("1", "ship monday")],
    ),
    (
        "decision-41: live\nEDIT: decision-42: approved",
        [Says("decision-41", "live"), *APPROVED],
    ),
    # after KEY: value any short value takes its place
    ("decision-42: blue. Sorry, I meant green", GREEN),
    ("decision-42: blue, sorry, I meant green", GREEN),
    ("decision-42: blue. I meant green", GREEN),
    ("decision-42: blue, I meant green", GREEN),
    ("decision-42: blue, I meant green, not blue", GREEN),
    ("decision-42: blue. correction: green", GREEN),
    ("decision-42: blue, correction: green", GREEN),
    ("decision-42: blue\nCorrection: green", GREEN),
    ("decision-42: blue EDIT: green", GREEN),
    ("decision-42: blue\nEDIT: green", GREEN),
    ("decision-42: blue (edit: green)", GREEN),
    ("decision-42: blue\nupdate: green", BLUE),
    *(
        (f"decision-42: blue EDIT: {remark}", BLUE)
        for remark in (
            "typo",
            "2 typos",
            "formatting",
            "spelling",
            "added link",
            "fixed link",
            "fixed the date",
            "clarity",
            "for clarity",
            "wording",
            "tests are green",
            "this is a much longer remark",
        )
    ),
    ("decision-42: blue. I meant no offense", []),
    # taken back in the same sentence
    ("decision-42: blue, scratch that", []),
    ("decision-42: blue - scratch that", []),
    ("decision-42: blue. never mind", []),
    ("decision-42: blue, never mind", []),
    ("decision-42: blue nvm", []),
    ("decision-41: live\ndecision-42: blue, scratch that", [Says("decision-41", "live")]),
    ("decision-42 is Approved (edit: actually rejected)", [Says("decision-42", "rejected")]),
    ("decision-42 is rejected (edit: wrong, it's approved)", [Says("decision-42", "approved")]),
    ("decision-42: approved (Edit: it's been rejected)", [Says("decision-42", "rejected")]),
    ("decision-42: approved (edit: no, rejected)", [Says("decision-42", "rejected")]),
    ("decision-42: approved (edit: typo)", [Says("decision-42", "approved")]),
    ("decision-42: approved (edit: added the link)", [Says("decision-42", "approved")]),
    ("decision-41: live\ndecision-42: blue (edit: wrong)", [Says("decision-41", "live")]),
    ("decision-42: blue\nEDIT: decision-42 isn't blue", []),
]

NOTHING = [
    # questions
    "is decision-42 approved?",
    "is decision-42 approved",
    "decision-42 is approved?",
    "decision-42: approved?",
    "decision-42: approved or rejected?",
    "has decision-42 been approved",
    "¿decision-42 está aprobado?",
    "decision-42は承認済みですか",
    "decision-42: who owns this",
    # conditionals, wishes, proposals, promises
    "if decision-42 is approved we ship",
    "unless decision-42 is approved",
    "decision-42: approved if legal signs",
    "decision-42: approved unless anyone objects",
    "decision-42 is approved, let me know if anyone objects",
    "once decision-42 is approved we ship",
    "when decision-42 is approved, ping me",
    "decision-42 should be approved",
    "I wish decision-42 was approved",
    "hopefully decision-42 is approved",
    "I propose decision-42: approved",
    "decision-42: let's ship friday",
    "decision-42: maybe friday",
    "decision-42 will be approved tomorrow",
    "decision-42: will ship friday",
    "I'll make sure decision-42 is approved",
    # negated or pending
    "decision-42 is not approved",
    "decision-42 isn't approved",
    "decision-42 isn’t approved",
    "decision-42 is no longer approved",
    "decision-42 has not been approved",
    "decision-42: not approved",
    "decision-42: not decided yet",
    "decision-42: pending",
    "decision-42: TBD",
    "decision-42 is now under review",
    "decision-42: approved or rejected",
    "I don't think decision-42 is approved",
    "not sure decision-42 is approved",
    "decision-42 ist nicht genehmigt",
    # quotes, code, forwards, sarcasm
    "> decision-42: approved",
    "&gt; decision-42: approved",
    "&gt;&gt;&gt; so\ndecision-42: approved",
    "```decision-42: approved```",
    "```\ndecision-42: approved",
    "`decision-42: approved`",
    '"decision-42: approved"',
    'Maya said "decision-42 is approved"',
    "Maya said decision-42 is approved",
    "Maya thinks decision-42 is approved",
    "---------- Forwarded message ---------\ndecision-42: approved",
    "Fwd: news\ndecision-42: approved",
    "Maya wrote:\ndecision-42: approved",
    "decision-42: approved /s",
    "decision-42: approved\n/s",
    "decision-42: approved jk",
    "decision-42 is approved… not",
    "decision-42 is approved, or is it",
    "Options:\n- decision-42: approved\n- decision-42: rejected",
    # values that are none
    "decision-42: https://example.org/x",
    "decision-42: <https://example.org/x>",
    "decision-42: <https://example.org/x|the minutes>",
    "decision-42: 50%",
    "decision-42 is now 50 %",
    "decision-42: 80% done",
    "decision-42: see decision-43",
    "decision-42: see the minutes",
    "decision-42: 🎉",
    "decision-42: +1",
    "decision-42: ...",
    "decision-42:",
    "decision-42: " + "x" * 81,
    "decision-42 is great",
    "decision-42 is a mess",
    "decision-42 is WIP",
    "decision-42 is closed-source",
    "decision-42's owner is Maya",
    "DECISION-42 IS A MESS",
    "decision-42 was updated to reflect the review",
    "decision-42 changed to reflect the review",
    "I updated decision-42 to clarify the wording",
    "decision-42: can't reproduce on my machine",
    "decision-42: thanks for the review",
    "decision-42: I'm on it",
    # reports that are none
    "let me know decision-42 is approved",
    "let <@U1> know decision-42 is approved",
    "please tell <@U1> decision-42 is approved",
    "I'll tell <@U1> decision-42 is approved",
    "I told @nobody that decision-42 is approved",
    "told <@U1> about decision-42",
    "<@U1> told <@U2> decision-42 is approved",
    "nobody told me decision-42 is approved",
    # not a reference
    "UTF-8: approved",
    "ISO-8601: approved",
    "GPL-3: approved",
    "COVID-19: approved",
    "GPT-4: approved",
    "SHA-256: approved",
    "GMT-5: approved",
    "UTC+2: approved",
    "may-2016: approved",
    "q3-2027: approved",
    "2027-03: approved",
    "d-42: approved",
    "report-2016.pdf: approved",
    "foo-bar-12: approved",
    "decision-42-b: approved",
    "release-1.2: approved",
    "feature/ops-17: approved",
    "ops-17@example.org: approved",
    "https://example.org/ops-17: approved",
    "node-12:8080",
    "#incident-42: approved",
    "<#C1|incident-42>: approved",
    ":ops-17: approved",
    "décisio\u0301n: approved",
    "`timeout`: 5",
    "`timeout` is now 5",
    "launch dates: approved",
    "pre-launch date: approved",
    # a ticket's title, and what is said while it is worked on
    "OPS-17: Add a retry to the uploader",
    "OPS-17: refactor the uploader",
    "OPS-17: Login page broken on Safari",
    "OPS-17: login page is broken on safari",
    "OPS-17: ログイン画面が正しく表示されない問題",
    "OPS-17: Fixed crash on start",
    "bug-17945: the sum is wrong for long vectors",
    "gh-17: fix the crash in the parser",
    "[OPS-17] status changed from Open to Closed",
    "Fixes OPS-17: crash on empty input",
    "today: OPS-17: refactor the parser",
    "OPS-17: writing tests",
    "OPS-17: works for me",
    "OPS-17: code review",
    "OPS-17: ready for review",
    "OPS-17: PR is up",
    "OPS-17: P1",
    "OPS-17: 5 points",
    "OPS-17: duplicate of OPS-18",
    "OPS-17: yes, I saw that",
    # said to somebody whose name looks like a key, and other lines with a colon
    "jack_12: the build is green again",
    "user_42: hello there",
    "refund_4411: asked Maya about it",
    "worker-3: started",
    "error-500: internal server error",
    "option-1: use Postgres",
    "exercise-5: solve for x",
    "route-66: closed",
    "launch date: see the thread",
    "decision-42: details below",
    "decision-42: notes attached",
    # a way through things
    "OPS-17 -> OPS-18",
    "decision-42 -> decision-43 -> decision-44",
    "decision-42 -> retries -> done",
    # a program, and notes about one
    "OPS-17: socket: no lock",
    "OPS-17: close() is slow",
    "OPS-17: Fixed :mod:`asyncio`",
    "OPS-17: IDLE -- no more leaks",
    "dbus-1: fix the notifications",
    "DAY_1: Final[int]",
    "image_24: Optional[str] = None",
    'RED_2 = "#ffa198"',
    "call_516(0, 7) = 0",
    "df_2 = df.filter(x)",
    "retry_3 = retry_2 + 1",
    'conf_1 = {"a": 1}',
    "incident-7: root cause unknown, digging",
    "&lt;maya&gt; decision-42: approved",
    "[10:32] &lt;maya&gt; decision-42: approved",
    "yeah right, decision-42 is approved",
    "decision-42 is fixed in theory",
    "suppose decision-42 is approved",
    "launch date: the venue is booked",
    # the line was broken by a program: where the value ends is in the next one
    "after a long and friendly discussion we decided to remove\n the old names of the modules",
    "decision-42: everybody who was at the meeting gets one of\nthe new chairs",
    # left open, or not yet
    "decision-42: blue or green",
    "decision-42: either blue or green",
    "decision-42: blue, red or green",
    "decision-42 changed from red to blue or green",
    "decision-42: we'll decide tomorrow",
    "decision-42 is live in 3 days",
    "decision-42 is live in a week",
    "decision-42 is live tomorrow",
    "decision-42 is live next week",
    "decision-42 is fixed by Friday",
    "decision-42 is done by Friday",
    "decision-42 is done by end of week",
    "decision-42 is done by 5pm",
    "decision-42: approved xor rejected",
    "decision-42: approved \\ rejected",
    "decision-42: approved: 3, rejected: 2",
    "decision-42 is approved, then rejected",
    "decision-42 is approved and reverted",
    "decision-42 is closed, please reopen",
    "decision: yes/no",
    "decision: approved | rejected",
    "decision: [ ] yes [ ] no",
    "we decided to use Kafka by mistake",
    # what a hostile reader found: conditions, ballots, jokes, mistakes, halves, opinions, papers
    "decision-42: approved (edit: legal rejected it)",
    "decision-42: approved (edit: not true)",
    "decision-42: approved (edit: wrong)",
    "decision-42: approved (edit: nope)",
    "in case we agreed to something, note it here",
    "in case we decided to use Kafka, tell me",
    "assuming we agreed to use Kafka, who pays",
    "suppose we decided to use Kafka",
    "supposing we decided to use Kafka, who pays",
    "provided we agreed to use Kafka, fine",
    "providing we decided to use Kafka, fine",
    "in the event we decided to use Kafka, call me",
    "let's say we decided to use Kafka",
    "say we decided to use Kafka",
    "unless we decided to use Kafka, fine",
    "once we decided to use Kafka, all was well",
    "until we decided to use Kafka, all was well",
    "so long as we agreed to use Kafka",
    "had we decided to use Kafka",
    "on the off chance we decided to use Kafka, tell me",
    "we decided to use Kafka, assuming legal agrees",
    "we decided to use Kafka, provided legal agrees",
    "we decided to use Kafka as long as legal agrees",
    "decision-42: approved/rejected",
    "decision-42: approved | rejected",
    "decision-42: approved|rejected",
    "decision-42: yes/no",
    "decision-42: yes / no / abstain",
    "decision-42: approved / rejected",
    "decision-42: go/no-go",
    "decision-42 is approved/rejected",
    "decision-42: [approved|rejected]",
    "decision-42: (approved/rejected)",
    "decision-42: approved, rejected, deferred",
    "decision-42: approved, rejected or deferred",
    "decision-42: approved vs rejected",
    "decision-42: approved vs. rejected",
    "decision-42: approve/reject",
    "decision-42: for / against",
    "decision-42: A/B/C",
    "decision-42: option A / option B",
    "decision-42: true/false",
    "decision-42: ☐ approved ☐ rejected",
    "decision-42: [ ] approved [ ] rejected",
    "decision-42: -1",
    "decision-42: -1 from me",
    "decision-42: -1, too slow",
    "decision-42: +2",
    "decision-42: +0",
    "decision-42: −1",
    "decision-42: –1",
    "A) decision-42: rejected B) decision-42: approved",
    "a. decision-42: rejected b. decision-42: approved",
    "1️⃣ decision-42: rejected 2️⃣ decision-42: approved",
    "decision-42: approved or decision-42: rejected",
    "decision-42: approved / decision-42: rejected",
    "decision-42 is approved or decision-43 is rejected",
    "decision-42: 👍 approved 👎 rejected",
    "decision-42: approved (kidding)",
    "decision-42 is approved (just kidding)",
    "decision-42 is approved, just kidding, it's rejected",
    "decision-42 is approved - joke",
    "decision-42 is approved, psych!",
    "decision-42 is approved, sike",
    "decision-42 is approved - NOT",
    "decision-42 is approved NOT",
    "decision-42 is approved (not)",
    "decision-42 is approved... in your dreams",
    "decision-42 is approved, as if",
    "decision-42 is approved. Joking!",
    "decision-42 is approved, april fools",
    "decision-42 is approved 🙄",
    "decision-42 is approved :upside_down_face:",
    "decision-42: approved ;-) not",
    "OPS-17 is closed, said nobody ever",
    "OPS-17 is closed, said no one ever",
    "OPS-17 is closed — said no one",
    "oh great, OPS-17 is fixed again :rolling_eyes:",
    "oh great, OPS-17 is fixed again",
    "decision-42 is approved by nobody",
    "decision-42: approved by no one",
    "decision-42 is approved by mistake",
    "decision-42: approved by accident",
    "decision-42 is approved in error",
    "decision-42 was accidentally approved",
    "decision-42 is accidentally approved",
    "OPS-17 has been closed by mistake, reopening",
    "OPS-17 has been closed, reopening",
    "OPS-17 is closed. Reopening.",
    "OPS-17 is closed. By mistake.",
    "OPS-17 is closed, sort of",
    "OPS-17 is fixed, kind of",
    "OPS-17 is fixed, not",
    "OPS-17 is fixed, or so they say",
    "decision: adopt X (proposed)",
    "decision: adopt X (draft)",
    "decision: adopt X [draft]",
    "decision: adopt X - draft",
    "decision: adopt X (to be confirmed)",
    "decision: adopt X (not final)",
    "decision-42: approved (draft)",
    "decision-42: adopt X (proposed)",
    "we decided to adopt X (proposal)",
    "decision: blocked",
    "decision: deferred",
    "decision: postponed",
    "decision: up to Tom",
    "decision: left to Tom",
    "decision: Tom's call",
    "decision: on hold",
    "decision: in progress",
    "decision: overdue",
    "decision-42 is approved by Tom but not by Priya",
    "decision-42: approved by Tom, not by Priya",
    "decision-42: approved by Tom but Priya rejected it",
    "OPS-17 is fixed in 3.2 but not in main",
    "OPS-17 is fixed except in main",
    "OPS-17 is fixed only for Windows",
    "OPS-17 is partly fixed",
    "OPS-17 is fixed, partly",
    "OPS-17 is fixed but still fails on main",
    "OPS-17 is done, mostly",
    "OPS-17 is done by whom",
    "OPS-17 is done by who",
    "OPS-17 is done how",
    "OPS-17 is done since when",
    "OPS-17 is now the most hated ticket ever",
    "OPS-17 is now the worst",
    "OPS-17 is now my favourite bug",
    "OPS-17 is now a nightmare",
    "OPS-17 is now a total mess",
    "OPS-17 is now haunting me",
    "OPS-17 is now 3 years old",
    "PR-1234 = +12 -3 lines",
    "PR-1234: +12/-3",
    "PR-1234: +12, −3",
    "sprint-12: retro notes",
    "sprint-12: retro",
    "sprint-12: agenda",
    "sprint-12: meeting minutes",
    "sprint-12: planning notes for Monday",
    "sprint-12: Retro Notes",
    "sprint-12 = retro board",
    "decision-42: approved\nEDIT: they changed their minds, it isn't",
    "1. decision-42: rejected\n2. decision-42: approved\nvote below",
    "1. decision-42: rejected\n2. decision-42: approved",
    "- decision-42: rejected\n- decision-42: approved",
    "A) decision-42: rejected\nB) decision-42: approved",
    ":one: decision-42: rejected\n:two: decision-42: approved",
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(t, e, id=t[:60]) for t, e in DECIDES])
def test_a_statement_with_a_reference_decides(text: str, expected: list[Says]) -> None:
    assert said(extract(text)) == expected


@pytest.mark.parametrize(("text", "expected"), [pytest.param(t, e, id=t[:60]) for t, e in MENTIONS])
def test_a_hedge_only_mentions_and_telling_reports(text: str, expected: list[Says]) -> None:
    assert said(extract(text)) == expected


@pytest.mark.parametrize(("text", "expected"), [pytest.param(t, e, id=t[:60]) for t, e in IN_WORDS])
def test_a_decision_in_words_is_an_entity_of_its_own(text: str, expected: list[Says]) -> None:
    assert said(extract(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [pytest.param(t, e, id=t[:60]) for t, e in CORRECTED]
)
def test_the_later_text_counts(text: str, expected: list[Says]) -> None:
    assert said(extract(text)) == expected


@pytest.mark.parametrize(("text", "expected"), [pytest.param(t, e, id=t[:60]) for t, e in UNSHAKEN])
def test_what_only_looks_like_doubt_takes_nothing_back(text: str, expected: list[Says]) -> None:
    assert said(extract(text)) == expected


@pytest.mark.parametrize("text", [pytest.param(t, id=t[:60]) for t in NOTHING])
def test_nothing_is_stated(text: str) -> None:
    assert said(extract(text)) == []


@pytest.mark.parametrize("text", [pytest.param(t, id=t[:60]) for t in NOTHING if "\n" not in t])
def test_nothing_in_one_line_leaves_the_next_line_alone(text: str) -> None:
    assert said(extract(f"decision-99: live\n\n{text}")) == [Says("decision-99", "live")]
    assert said(extract(f"{text}\n\ndecision-99: live")) == [Says("decision-99", "live")]


# --- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "thread", "expected"),
    [
        ("update: ship monday", "T1", [Says("decided-T1-1", "ship monday")]),
        ("Update: ship monday.", "T1", [Says("decided-T1-1", "ship monday")]),
        ("Change of plan: ship monday", "T1", [Says("decided-T1-1", "ship monday")]),
        ("change of plans: rejected", "T2", [Says("decision-42", "rejected")]),
        ("update: decision-43 is live", "T2", [Says("decision-43", "live")]),
        ("update: still waiting on legal", "T2", []),
        ("update: rejected?", "T2", []),
        ("update: I spoke to legal", "T2", []),
        ("this is now CLOSED FIXED", "T2", [Says("decision-42", "CLOSED FIXED")]),
        ("ok, it's now live :tada:", "T2", [Says("decision-42", "live")]),
        ("it has been merged", "T2", [Says("decision-42", "merged")]),
        ("it's now cancelled", "T1", [Says("decided-T1-1", "cancelled")]),
        ("this is now closed", None, []),
        ("this is now closed?", "T2", []),
        ("it's now closed if you agree", "T2", []),
        ("this is now a mess", "T2", []),
        ("it's been a while", "T2", []),
        ("this is fixed", "T2", []),
        ("OPS-3? this is now closed", "T2", []),
        ("ship monday", "T1", []),
        ("update: ship monday", "T3", []),
        ("update: ship monday", None, []),
    ],
)
def test_an_update_in_a_decisions_thread_is_its_next_value(
    text: str, thread: str | None, expected: list[Says]
) -> None:
    assert said(extract(text, thread=thread)) == expected


def conversation(*texts: tuple[str, str, str | None]) -> list[Says]:
    passages = tuple(
        Passage(id=id, author="U9", room="C1", at=AT, text=text, thread=thread)
        for id, text, thread in texts
    )
    return [
        Says(s.entity, s.value) for s in RULES.extract(Window(passages=passages, people=PEOPLE))
    ]


def test_a_decision_makes_its_thread_known_to_later_messages() -> None:
    root, reply = ("m1", "decision: no freeze", None), ("m2", "update: a freeze", "m1")
    assert conversation(root, reply) == [
        Says("decided-m1-1", "no freeze"),
        Says("decided-m1-1", "a freeze"),
    ]
    assert conversation(reply, root) == [Says("decided-m1-1", "no freeze")]


def test_two_statements_in_the_root_leave_its_thread_unknown() -> None:
    root = ("m1", "decision-42: approved\ndecision-43: rejected", "m1")
    assert conversation(root, ("m2", "update: live", "m1")) == [
        Says("decision-42", "approved"),
        Says("decision-43", "rejected"),
    ]


def test_a_value_given_before_in_the_window_is_known_to_is() -> None:
    given_, later = ("m1", "decision-42: mauve", None), ("m2", "decision-42 is mauve", None)
    assert conversation(given_, later)[1:] == [Says("decision-42", "mauve")]
    assert conversation(later) == []


# --- what a statement carries ---------------------------------------------------------------------


def test_a_statement_says_who_said_what_to_whom() -> None:
    text = "Hi <@U1>, told <@U2> that OPS-17 is fixed. decision-42: approved"
    first, second = extract(text)
    assert first == Statement(
        kind="report",
        message="C1:1800.0001",
        speaker="U9",
        entity="ops-17",
        name="OPS-17",
        value="fixed",
        decides=False,
        quote="Hi <@U1>, told <@U2> that OPS-17 is fixed.",
        number=0,
        about="U2",
        addressees=("U1", "U2"),
    )
    assert (second.number, second.kind, second.addressees) == (1, "say", ())


def test_a_leading_mention_of_the_bot_reads_as_if_it_were_not_there() -> None:
    (plain,) = extract("decision-42: approved")
    (addressed,) = extract("<@UBOT> decision-42: approved")
    assert addressed.model_copy(update={"quote": plain.quote}) == plain


def test_what_a_program_or_a_direct_message_says_reads_the_same() -> None:
    assert extract("decision-42: approved", app=True) == extract("decision-42: approved")
    assert extract("decision-42: approved", direct=True) == extract("decision-42: approved")


def test_a_known_entity_keeps_its_name() -> None:
    (statement,) = extract("decision-7: plan c")
    assert (statement.entity, statement.name) == ("decision-7", "Decision 7")


def test_a_decision_in_words_is_named_by_its_text() -> None:
    (statement,) = extract("decision: " + "all of the new services " * 5)
    assert len(statement.name) <= 80
    assert statement.name.endswith("…")
    assert statement.value.startswith(statement.name.rstrip("…"))


def test_a_long_sentence_is_quoted_around_the_statement() -> None:
    filler = "a &amp; b " * 40
    (statement,) = extract(f"After the call with a &amp; b, decision-42: ship it, because {filler}")
    assert "decision-42: ship it" in statement.quote
    assert len(statement.quote) <= 200
    assert not re.search(r"&(?!amp;)|^(?:amp|mp|p)?;", statement.quote)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Decision-42", "decision-42", True),
        ("decision-42", "decision-420", False),
        ("decision-42", "decision_42", False),
        ("décision-42", "decision-42", False),
        ("d\u0435cision-42", "decision-42", False),  # a Cyrillic letter
        ("décision-42", "DÉCISION-42", True),
        ("db.pool", "db-pool", False),
        ("締め切り", "締切", False),
    ],
)
def test_only_the_same_key_is_the_same_entity(a: str, b: str, same: bool) -> None:
    assert (entity_id(a) == entity_id(b)) is same
    assert re.fullmatch(r"[A-Za-z0-9_-]+", entity_id(a))


def test_a_key_may_be_another_entitys_alias() -> None:
    one = Known(id="e1", name="the login bug", aliases=("OPS-17",))
    w = window("OPS-17: fixed").model_copy(update={"entities": (one,)})
    assert [(s.entity, s.name) for s in RULES.extract(w)] == [("e1", "the login bug")]
    twice = (one, Known(id="e2", name="another bug", aliases=("OPS-17",)))
    assert RULES.extract(w.model_copy(update={"entities": twice})) == []


def test_somebody_whose_name_looks_like_a_key_is_no_entity() -> None:
    w = window("bob-77: approved, and jo_9 is live")
    people = PEOPLE | {"U7": "bob-77", "jo_9": "Jo"}
    assert [s.entity for s in RULES.extract(w)] == ["bob-77", "jo_9"]
    assert RULES.extract(w.model_copy(update={"people": people})) == []


@pytest.mark.parametrize("id", ["U1", "maya.k", "u-1", "12_3"])
def test_a_mention_may_hold_any_id(id: str) -> None:
    w = window(f"told <@{id}> that decision-42 is approved")
    assert [s.about for s in RULES.extract(w.model_copy(update={"people": {id: "Maya"}}))] == [id]


def test_an_alias_two_entities_claim_binds_nothing() -> None:
    twice = (*ENTITIES, Known(id="other", name="other", aliases=("launch date",)))
    w = window("launch date: 9 December").model_copy(update={"entities": twice})
    assert RULES.extract(w) == []


def test_a_name_two_people_share_is_nobody() -> None:
    w = window("told @maya that decision-42 is approved")
    assert [s.about for s in RULES.extract(w)] == ["U1"]
    assert RULES.extract(w.model_copy(update={"people": {**PEOPLE, "U4": "maya"}})) == []


@pytest.mark.parametrize("stored", ["Zo\u00e9 Lam", "Zoe\u0301 Lam", "ZOE\u0301 Lam"])
@pytest.mark.parametrize(
    "written", ["@Zo\u00e9 Lam", "@zoe\u0301 lam", "@zo\u00e9.lam", "@ZOE\u0301.LAM"]
)
def test_a_name_is_the_same_composed_or_not(stored: str, written: str) -> None:
    w = window(f"told {written} that decision-42 is approved")
    w = w.model_copy(update={"people": {"U1": stored, "U2": "Zoe Lam"}})
    assert [s.about for s in RULES.extract(w)] == ["U1"]
    w = w.model_copy(update={"people": {"U2": "Zoe Lam"}})
    assert RULES.extract(w) == []


def test_the_lists_are_settings() -> None:
    settled: Mapping[str, tuple[str, ...]] = {"nl": ("goedgekeurd",)}
    rules = Rules(stop=("decision-13", "sprint"), settled=settled)

    def values(text: str) -> list[str]:
        return [s.value for s in rules.extract(window(text))]

    assert values("decision-42 is goedgekeurd") == ["goedgekeurd"]
    assert values("decision-42 is approved") == []
    assert values("decision-13: x1") == values("Sprint-4: x1") == []
    assert values("UTF-8: x1") == ["x1"]
    assert {"en", "de", "es", "fr", "ja", "ko", "ar"} <= set(SETTLED)
    assert {"utf", "covid", "may", "gmt"} <= set(STOP)


@pytest.mark.parametrize(
    ("language", "word"), [(k, w) for k in SETTLED for w in sorted(SETTLED[k])]
)
def test_every_settled_word_settles(language: str, word: str) -> None:
    assert [s.value for s in extract(f"decision-42 is {word}")] == [word], language


# --- hostile input --------------------------------------------------------------------------------

N = 40_000
HOSTILE = {
    "backticks": "`" * N,
    "spaced backticks": "` " * (N // 2),
    "fences": "``` " * (N // 4),
    "angles": "<" * N,
    "open mentions": "<@U1" * (N // 4),
    "stars": "*a " * (N // 3),
    "tildes": "~a ~ " * (N // 5),
    "nested": "*_~`" * (N // 4),
    "spaces": "decision-42: " + " " * N + "a?",
    "odd spaces": "decision-42 is" + "\u00a0\u3000" * (N // 2),
    "keys": "decision-42 and " * (N // 16),
    "one long key": "a" * N + "-1: a",
    "separators": "decision-42" + ":=" * (N // 2),
    "sentences": ". " * (N // 2),
    "colons": ":a" * (N // 2),
    "brackets": "[a](" * (N // 4),
    "told": "told " + "<@U1>, " * (N // 7) + "that decision-42 is approved",
    "decided": "we decided " * (N // 11),
    "corrections": "sorry, " * (N // 7) + "I meant decision-42",
    "edits": "EDIT: " * (N // 6),
    "from": "decision-42 changed from " + "a to " * (N // 5),
    "people": "@a " * (N // 3),
    "emoji": "🎉" * N,
    "not": "decision-42 is not " * (N // 19),
    "code": "`a`. " * (N // 5),
    "decisions": "decision: a\n" * (N // 12),
    "edited questions": "ab-1? EDIT: x\n" * (N // 14),
    "people and stops": "<@U1>. " * (N // 7),
    "calls": "decision-42: a " + "@maya, fyi " * (N // 11),
    "alternatives": "decision-42: " + "a or " * (N // 5),
    "regrets": "decision-42: a" + ", never mind" * (N // 12),
    "ors": "decision-42: if you have any " * (N // 29),
    "clauses": "OPS-17: " + "the a " * (N // 6),
    "titles": "OPS-17: add b " * (N // 14),
    "meetings": "we decided at the " * (N // 18),
    "calls in code": "df_2 = " + "a(" * (N // 2),
    "smiles": "decision-42: a" + " :)" * (N // 3),
    "logs": "[10:32] <a" * (N // 10),
    "admissions": "EDIT: " + "no, " * (N // 4),
    "ballots": "decision-42: " + "a/" * (N // 2),
    "boxes": "decision-42: a " + "[ ] (draft " * (N // 11),
    "list items": "A) ab-1: x " * (N // 11),
    "papers": "decision: " + "notes friday " * (N // 13),
    "dots": "decision-42: a" + "." * N,
    "dashes": "decision-42? " + "- " * (N // 2),
}


@pytest.mark.parametrize("shape", HOSTILE)
@pytest.mark.parametrize("broken", [False, True], ids=["one line", "many lines"])
def test_a_paste_takes_no_time_and_states_nothing(shape: str, broken: bool) -> None:
    text = HOSTILE[shape]
    if broken:
        text = "\n".join(text[i : i + 1_900] for i in range(0, N, 1_900)) + "\n\nfin"
    w = window(text + " decision-1", thread="T1")
    start = time.process_time()
    found = RULES.extract(w)
    assert time.process_time() - start < 0.8
    assert all(s.value in text for s in found)
    assert len(found) <= 100
    if not broken and shape != "decisions":
        assert found == []


@pytest.mark.parametrize(
    "text",
    ["", "\0", "decision-42: \ud800", "decision-42: \0", "\ud83d decision-42: approved"],
    ids=ascii,
)
def test_broken_text_states_nothing(text: str) -> None:
    assert extract(text) == []


def test_invisible_characters_are_not_seen() -> None:
    assert said(extract("\u200bdecision\u200b-42\ufeff: app\u00adroved\u2060")) == APPROVED


# fmt: off
PIECES = st.sampled_from([
    "decision-42", "OPS-17", "launch date", ": ", " is ", " = ", " -> ", "approved", "not ", "? ", ". ", ", ",
    " and ", "\n", "> ", "`", "```", "*", "_", "~", "~~", "<@U1>", "<@U1", "|", "@maya", "told ", " I think ",
    "if ", "we decided ", "decision: ", "EDIT: ", "sorry, I meant ", "&amp;", "&lt;", "https://x.y/z",
    "<https://x.y/OPS-17|label>", ":tada:", "🎉", "\u200b", "\u200f", "\0", "\ud800", "“", "”", "— ", "(", ")",
    "[", "]", "は承認済み", "：", "50%", "see ", "update: ", "rejected", "because ", "x" * 70, "yes " * 40,
])
# fmt: on


@given(st.one_of(st.lists(PIECES, max_size=25).map("".join), st.text(max_size=80)))
def test_whatever_is_written_statements_keep_their_promises(text: str) -> None:
    for number, s in enumerate(extract(text, thread="T1")):
        assert re.fullmatch(r"[A-Za-z0-9_-]+", s.entity)
        assert s.quote in text
        assert 0 < len(s.quote) <= 200
        assert s.value.strip() == s.value != ""
        assert len(s.value) <= 200
        assert len(s.name) <= 80
        assert s.number == number
        assert (s.kind == "report") is (s.about is not None)
        assert s.kind == "say" or not s.decides
        (s.quote + s.value + s.name).encode()


KEYS = st.from_regex(r"\A[A-Za-zéß]{2,6}[-_][0-9]{1,3}\Z").filter(
    lambda k: not set(re.split("[-_]", k.lower())) & set(STOP)
)


@given(KEYS, KEYS)
def test_near_keys_never_merge(a: str, b: str) -> None:
    first, second = extract(f"{a}: approved\n{b}: rejected")
    assert (first.entity == second.entity) is (a.lower() == b.lower())


# --- real messages --------------------------------------------------------------------------------

SHARED = Path(os.environ.get("SECONDORDER_SHARED") or Path(__file__).parents[3] / "shared")
EXPORT = SHARED / "data" / "slack-export-datavis"


def real_messages() -> list[Passage]:
    if not EXPORT.is_dir():
        pytest.skip(f"no real export at {EXPORT}")
    return [
        Passage(id=m["ts"], author=m.get("user", ""), room=day.parent.name, at=AT, text=m["text"])
        for day in sorted(EXPORT.glob("*/*.json"))
        for m in json.loads(day.read_text())
        if "text" in m
    ]


@pytest.mark.shared
def test_real_talk_without_decisions_states_nothing() -> None:
    messages = real_messages()
    assert len(messages) > 1_300
    found = [RULES.extract(Window(passages=(m,))) for m in messages]
    assert sum(map(len, found)) == 0


def test_five_thousand_ordinary_messages_take_a_second() -> None:
    ordinary = [text for text, _ in DECIDES + MENTIONS] + NOTHING
    passages = [
        window(text)
        for text in (*ordinary, *("looks good to me, thanks for the quick fix" for _ in ordinary))
    ]
    start = time.process_time()
    for one in passages:
        RULES.extract(one)
    assert len(passages) / (time.process_time() - start) > 2_500  # half of it, on a busy machine
