"""Answers as pages of plain text; pure.

It refuses to know where a page is shown: an adapter turns lines into its own form. Names, values
and quotes stay in the language people used; times are in the reader's own zone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from bot.questions import Answer
from engine.beliefs import (
    Announcement,
    CommonGround,
    Evidence,
    Explanation,
    Handoff,
    Holding,
    How,
    LateUse,
    Mind,
    Misinformed,
    PersonStatus,
    Plan,
    Post,
    Recorded,
    Ref,
    Standing,
    Status,
    Timeline,
    WhoKnows,
    WrongAboutOthers,
)
from engine.events import Grade

MOST = 14
"""So many lines of a section are shown; the rest is counted."""

_GRADES: Mapping[Grade, str] = {
    "stated": "said so",
    "acknowledged": "acknowledged it",
    "engaged": "took part after it",
    "exposed": "was there",
    "reachable": "can scroll to it",
}
_HOWS: Mapping[How, str] = {
    "said": "said so",
    "heard": "heard it",
    "told": "was told",
    "reported": "is said to have been told",
    "saw": "saw it change",
}
_TITLES: Mapping[Status, str] = {
    "knows": "Knows",
    "stale": "Has an old value",
    "could_have_seen": "Could have seen it",
    "unaware": "Has not heard of it",
}
_MARKUP = re.compile(
    r"<(?:@!?|#)([A-Za-z0-9]+)(?:\|([^<>]*))?>|<(?:https?://[^|<>]+)\|([^<>]+)>|<(https?://[^|<>]+)>"
)
_SPACES = re.compile(r"\s+")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+"
)
"""What moves a cursor, ends a line or turns text around, and halves of broken characters."""

_VALUE, _NAME = 120, 80
"""So many characters of a value and of a name are shown."""


class Line(NamedTuple):
    text: str
    link: str | None = None


class Section(NamedTuple):
    title: str
    lines: tuple[Line, ...]
    more: int = 0


class Page(NamedTuple):
    """The first line is the answer."""

    head: str
    sections: tuple[Section, ...] = ()


class Style(NamedTuple):
    """The reader's zone, and what people read for the ids in quotes."""

    zone: tzinfo
    names: Mapping[str, str]


def page(answer: Answer, style: Style) -> Page:
    match answer:
        case WhoKnows():
            return _who_knows(answer, style)
        case Misinformed():
            return _misinformed(answer, style)
        case Announcement():
            return _announcement(answer)
        case Handoff():
            return _handoff(answer, style)
        case Explanation():
            return _explanation(answer, style)
        case CommonGround():
            return _common_ground(answer, style)
        case Mind():
            return _mind(answer, style)
        case Standing():
            return _standing(answer)
        case Recorded():
            return _recorded(answer, style)


def text(page: Page) -> str:
    """A page as plain text, links behind their lines."""
    lines = [page.head]
    for section in page.sections:
        lines += ["", section.title]
        lines += [
            f"  {line.text}" + (f"  {plain(line.link)}" if line.link else "")
            for line in section.lines
        ]
        if section.more:
            lines.append(f"  and {section.more} more")
    return "\n".join(lines)


# ------------------------------------------------------------------------------- each answer


def _who_knows(answer: WhoKnows, style: Style) -> Page:
    name = _name(answer.entity)
    counts = {status: len(answer.having(status)) for status in _TITLES}
    if answer.value is None:
        head = f"{name}: nothing is decided yet; {_people(len(answer.people))} heard of it."
    else:
        parts = [f"{counts['knows']} {'knows' if counts['knows'] == 1 else 'know'}"]
        parts += [f"{counts['stale']} {'has' if counts['stale'] == 1 else 'have'} an old value"] * (
            counts["stale"] > 0
        )
        parts += [f"{counts['could_have_seen']} could have seen it"] * (
            counts["could_have_seen"] > 0
        )
        head = f"{name} is {_value(answer.value)}: {_and(parts)}."
    if answer.disputed:
        head += " It is disputed."
    sections = [_section("Decided", [_shown(answer.decided, style)] if answer.decided else [])]
    rivals = [
        Line(f"{_value(r.value)}, {_said(r.evidence, style)}", r.evidence.link)
        for r in answer.rivals
    ]
    sections.append(_section("Also decided, by somebody who did not know", rivals))
    for status, title in _TITLES.items():
        people = answer.having(status)
        if answer.value is None and any(one.value for one in people):
            title = "Has a value, though nothing is decided"
        sections.append(_section(title, [_person(one, style) for one in people]))
    wrong = [_wrong(one, style, with_entity=False) for one in answer.wrong_about_others]
    sections.append(_section("Wrong about others", wrong))
    return Page(head, _kept(sections))


def _person(one: PersonStatus, style: Style) -> Line:
    if one.evidence is None:
        return Line(_name(one.person))
    what = f" has {_value(one.value)}:" if one.status == "stale" and one.value else ","
    grade = _GRADES[one.grade] if one.grade else "heard"
    return Line(
        f"{_name(one.person)}{what} {grade}, {_where(one.evidence, style)}", one.evidence.link
    )


def _misinformed(answer: Misinformed, style: Style) -> Page:
    beliefs = [
        Line(
            f"{_name(one.person)} has {_value(one.believes)} for {_name(one.entity)} since"
            f" {_day(one.since, style)}; {_said(one.changed, style)} made it {_value(one.actual)}",
            one.changed.link,
        )
        for one in answer.beliefs
    ]
    wrong = [_wrong(one, style) for one in answer.wrong_about_others]
    people = len({one.person.id for one in answer.beliefs})
    if not beliefs and not wrong:
        return Page("Nobody holds an outdated value, as far as you may read.")
    head = (
        f"{_people(people)} {'holds' if people == 1 else 'hold'}"
        f" {_count(len(beliefs), 'outdated value')}."
        if beliefs
        else "Nobody holds an outdated value, but somebody is wrong about others."
    )
    return Page(head, _kept([_section("Outdated", beliefs), _section("Wrong about others", wrong)]))


def _wrong(one: WrongAboutOthers, style: Style, with_entity: bool = True) -> Line:
    people, about = _names(one.people), _names(one.about)
    verb = "thinks" if len(one.people) == 1 else "think"
    has = "has" if len(one.about) == 1 else "have"
    entity = f" for {_name(one.entity)}" if with_entity else ""
    return Line(
        f"{people} {verb} that {about} {has} {_value(one.thinks)}{entity};"
        f" it is {_value(one.actually)} ({_where(one.evidence, style)})",
        one.evidence.link,
    )


def _announcement(answer: Announcement) -> Page:
    name = _name(answer.entity)
    if answer.value is None:
        return Page(f"{name}: nothing is decided yet, so there is nothing to announce.")
    if not answer.wrong_before:
        return Page(f"Nobody needs telling: no one holds an outdated value of {name}.")
    by_hand = _section(
        "May not read the source; tell them by hand", [Line(_name(r)) for r in answer.by_hand]
    )
    wrong = f"{_people(answer.wrong_before)} {'has' if answer.wrong_before == 1 else 'have'}"
    if not answer.plans:
        head = f"{wrong} an outdated value of {name}, and no message of yours may reach them."
        return Page(head, _kept([by_hand]))
    best = answer.plans[0]
    head = (
        f"{wrong} an outdated value of {name}; {_count(len(best.messages), 'message')}"
        f" {'leaves' if len(best.messages) == 1 else 'leave'} {best.wrong_after}."
    )
    sections = [_section(_plan_title(i, plan), _plan(plan)) for i, plan in enumerate(answer.plans)]
    return Page(head, _kept([*sections, by_hand]))


def _plan_title(number: int, plan: Plan) -> str:
    title = "Best plan" if number == 0 else f"Or ({number + 1})"
    return (
        f"{title}: reaches {plan.reached}, leaves {plan.wrong_after} wrong,"
        f" interrupts {plan.interrupted} who already know"
    )


def _plan(plan: Plan) -> list[Line]:
    return [Line(f"{_to(post)}: {_flat(post.text.splitlines()[0])}") for post in plan.messages]


def _to(post: Post) -> str:
    if post.to.room is not None:
        named = f" (mentioning {_names(post.mentions)})" if post.mentions else ""
        return f"Post in {_room(post.to.room)}{named}"
    return f"Tell {_name(post.to.person) if post.to.person else '?'}"


def _handoff(answer: Handoff, style: Style) -> Page:
    a, b = _name(answer.from_person), _name(answer.to_person)
    lacks = [
        Line(
            f"{_name(one.entity)} is {_value(one.value)}, {_said(one.evidence, style)}",
            one.evidence.link,
        )
        for one in answer.lacks
    ]
    wrong = [
        Line(
            f"{_name(one.entity)} is {_value(one.value)}, not {_value(one.holds)},"
            f" {_said(one.evidence, style)}",
            one.evidence.link,
        )
        for one in answer.wrong
    ]
    promises = [
        Line(
            f"{_name(one.to)} was given {_value(one.told)} for {_name(one.entity)}; it is now"
            f" {_value(one.actual)} ({_where(one.evidence, style)})",
            one.evidence.link,
        )
        for one in answer.promises
    ]
    if not (lacks or wrong or promises):
        return Page(f"Nothing to hand over: {b} has what {a} has, as far as you may read.")
    head = (
        f"From {a} to {b}: {_count(len(lacks), 'thing')} {b} has not heard of,"
        f" {len(wrong)} outdated, {_count(len(promises), 'promise')} to correct."
    )
    return Page(
        head,
        _kept(
            [
                _section(f"{b} has not heard of", lacks),
                _section(f"{b} has an old value of", wrong),
                _section(f"{a} told others, and it has changed", promises),
            ]
        ),
    )


def _explanation(answer: Explanation, style: Style) -> Page:
    who = " thinks ".join(_name(ref) for ref in answer.chain)
    if answer.value is None:
        return Page(f"{who} has not heard of {_name(answer.entity)}, as far as you may read.")
    steps = [
        Line(
            f"{'→' if step.decisive else ' '} {_value(step.value)}: {who} {_HOWS[step.how]},"
            f" {_said(step.evidence, style)}",
            step.evidence.link,
        )
        for step in answer.steps
    ]
    head = f"{who} has {_value(answer.value)} for {_name(answer.entity)}."
    return Page(head, _kept([_section("Because", steps)]))


def _common_ground(answer: CommonGround, style: Style) -> Page:
    a, b = (_name(ref) for ref in answer.people)
    lines = [
        Line(
            f"{_name(one.entity)} is {_value(one.value)}, {_said(one.evidence, style)}",
            one.evidence.link,
        )
        for one in answer.shared
    ]
    if not lines:
        return Page(f"{a} and {b} share nothing that both know the other knows.")
    head = f"{a} and {b} share {_count(len(lines), 'thing')}, and each knows that the other does."
    return Page(head, _kept([_section("Shared", lines)]))


def _mind(answer: Mind, style: Style) -> Page:
    if not answer.holds:
        return Page("You are not thought to know of any decision yet.")
    stale = [one for one in answer.holds if one.status == "stale"]
    fresh = [one for one in answer.holds if one.status != "stale"]
    head = f"You are thought to know {_count(len(answer.holds), 'thing')}, {len(stale)} outdated."
    return Page(
        head,
        _kept(
            [
                _section("Outdated", [_holding(one, style) for one in stale]),
                _section("Up to date", [_holding(one, style) for one in fresh]),
            ]
        ),
    )


def _holding(one: Holding, style: Style) -> Line:
    now = f"; it is now {_value(one.actual)}" if one.actual else ""
    return Line(
        f"{_name(one.entity)}: {_value(one.value)}, {_where(one.evidence, style)}{now}",
        one.evidence.link,
    )


def _standing(answer: Standing) -> Page:
    if not answer.messages and not answer.people:
        return Page(f"{answer.workspace}: nothing has been read yet.")
    return Page(
        f"{answer.workspace}: {_count(answer.messages, 'message')} of {_people(answer.people)} in"
        f" {_count(answer.rooms, 'room')} read; {_count(answer.statements, 'statement')} about"
        f" {_count(answer.entities, 'decision')}."
    )


def _recorded(answer: Recorded, style: Style) -> Page:
    where = _where(answer.evidence, style)
    return Page(f"Recorded: {_name(answer.entity)} is {_value(answer.value)} ({where}).")


# ------------------------------------------------------------------------------- after a replay


def history(
    standing: Standing, timelines: Sequence[Timeline], late: Sequence[LateUse], style: Style
) -> Page:
    """What a workspace's own history shows: decided, changed, and who went on with an old value."""
    decided = [one for one in timelines if one.changes]
    changed = [one for one in decided if len(one.changes) > 1]
    head = _standing(standing).head
    if not decided:
        return Page(head, (_nothing_found(),))
    changes = [
        Line(
            f"{_name(one.entity)}: {_course(one)}, {_said(one.changes[-1].evidence, style)}",
            one.changes[-1].evidence.link,
        )
        for one in _newest(changed)
    ]
    settled = [
        Line(
            f"{_name(one.entity)}: {_value(one.changes[0].value)},"
            f" {_said(one.changes[0].evidence, style)}",
            one.changes[0].evidence.link,
        )
        for one in _newest(decided)
        if len(one.changes) == 1
    ]
    acted = [
        Line(
            f"{_name(one.person)} went on with {_value(one.value)} for {_name(one.entity)}"
            f" ({_where(one.evidence, style)}); it was {_value(one.actual)} since"
            f" {_said(one.changed, style)}",
            one.evidence.link,
        )
        for one in late
    ]
    return Page(
        head,
        _kept(
            [
                _section("Changed", changes),
                _section("Went on with the old value", acted),
                _section("Decided once", settled),
            ]
        ),
    )


def _course(timeline: Timeline) -> str:
    values = [_value(change.value) for change in timeline.changes]
    return " → ".join(values if len(values) <= 6 else [values[0], "…", *values[-4:]])


def _newest(timelines: Iterable[Timeline]) -> list[Timeline]:
    return sorted(timelines, key=lambda one: one.changes[-1].evidence.at, reverse=True)


def _nothing_found() -> Section:
    return Section(
        "No decision was found",
        (
            Line("Looked for a key with a value (`OPS-17: fixed`, `decision-42 is approved`), for"),
            Line("`decision: …` at the start of a line, and for “we decided that …”."),
            Line("Write one of these in a channel, or `/decide the launch date: 8 December`."),
            Line(
                "With a model key, decisions in plain talk (“ok, let's do that”) are read as well."
            ),
        ),
    )


# ------------------------------------------------------------------------------- pieces


def _section(title: str, lines: Sequence[Line]) -> Section:
    return Section(title, tuple(lines[:MOST]), max(0, len(lines) - MOST))


def _kept(sections: Iterable[Section]) -> tuple[Section, ...]:
    return tuple(section for section in sections if section.lines)


def _shown(evidence: Evidence | None, style: Style) -> Line:
    if evidence is None:
        return Line("")
    quote = f": {_value(displayed(evidence.quote, style.names))}" if evidence.quote else ""
    return Line(f"{_said(evidence, style)}{quote}", evidence.link)


def _said(evidence: Evidence, style: Style) -> str:
    by = f"{_name(evidence.speaker)} " if evidence.speaker else ""
    return f"{by}{_where(evidence, style)}"


def _where(evidence: Evidence, style: Style) -> str:
    when = f"{evidence.at.astimezone(style.zone):%d %b %Y %H:%M}".removeprefix("0")
    if evidence.room is None:
        return f"on {when}"
    people = plain(evidence.room.name).split(", ")
    place = (
        f"between {_and([_short(one, _NAME) for one in people])}"
        if len(people) > 1
        else f"in {_room(evidence.room)}"
    )
    return f"{place} on {when}"


def _day(at: datetime, style: Style) -> str:
    return f"{at.astimezone(style.zone):%d %b %Y}".removeprefix("0")


def _room(room: Ref) -> str:
    name = _name(room)
    return name if " " in name or name.startswith("#") else f"#{name}"


def _value(value: str) -> str:
    return f"“{_flat(value)}”"


def _flat(text: str) -> str:
    """On one line, and short enough for one."""
    return _short(plain(text), _VALUE)


def _name(ref: Ref) -> str:
    return _short(plain(ref.name) or ref.id, _NAME)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain(text: str) -> str:
    """On one line, without anything that a terminal would obey instead of showing it."""
    return _SPACES.sub(" ", _UNSEEN.sub("", text)).strip()


def _names(people: Sequence[Ref]) -> str:
    shown = [_name(ref) for ref in people[:6]]
    return _and(shown + [f"{len(people) - 6} more"] * (len(people) > 6))


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"


def displayed(text: str, names: Mapping[str, str]) -> str:
    """What people see of a sentence as it was written: mentions by name, links by label."""

    def shown(found: re.Match[str]) -> str:
        id, label, link_label, link = found.groups()
        if id is None:
            return str(link_label or link)
        sign = "#" if found[0].startswith("<#") else "@"
        return f"{sign}{names.get(id) or label or id}"

    seen = _MARKUP.sub(shown, text)
    return seen.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
