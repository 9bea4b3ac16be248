"""Answers as pages of plain text; pure.

It refuses to know where a page is shown: an adapter turns lines into its own form. Names, values
and quotes stay in the language people used; times are in the reader's own zone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import NamedTuple

from bot import actions
from bot.pages import Button, Line, Page, Section
from bot.questions import Answer
from engine.beliefs import (
    Announcement,
    Behind,
    CommonGround,
    Evidence,
    Explanation,
    FalseBelief,
    Handoff,
    Holding,
    How,
    Inbox,
    LateUse,
    Mind,
    Misinformed,
    Named,
    Names,
    Naming,
    Perhaps,
    PersonStatus,
    Plan,
    Post,
    Recorded,
    Ref,
    Review,
    Slots,
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


class Style(NamedTuple):
    """The reader's zone, and what people read for the ids in quotes. `me`: who reads, and `at`: when,
    where there are buttons to press. `again`: the question in ids alone, to be asked again by one."""

    zone: tzinfo
    names: Mapping[str, str]
    me: str = ""
    at: datetime | None = None
    again: str = ""


def page(answer: Answer, style: Style) -> Page:
    return _cut(_whole(answer, style), style.again)


def part(answer: Answer, style: Style, start: int) -> Page:
    """So many lines of an answer, whichever sections they are in, from the line `start` on."""
    whole, sections, before = _whole(answer, style), list[Section](), 0
    for one in whole.sections:
        lines = one.lines[max(0, start - before) : max(0, start + MOST - before)]
        if lines:
            sections.append(one._replace(lines=lines))
        before += len(one.lines)
    turns = [
        actions.more(style.again, at, label)
        for at, label, there in (
            (max(0, start - MOST), "Back", start > 0),
            (start + MOST, "Go on", start + MOST < before),
        )
        if there
    ]
    return Page(whole.head, tuple(sections), tuple(filter(None, turns)))


def _cut(page: Page, again: str = "") -> Page:
    """The first lines of each section; the others are counted, and a button shows them."""
    sections, before = list[Section](), 0
    for one in page.sections:
        hidden = max(0, len(one.lines) - MOST)
        rest = actions.more(again, before + MOST) if again and hidden else None
        sections.append(one._replace(lines=one.lines[:MOST], more=one.more + hidden, rest=rest))
        before += len(one.lines)
    return page._replace(sections=tuple(sections))


def _whole(answer: Answer, style: Style) -> Page:
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
            return _standing(answer, style)
        case Recorded():
            return _recorded(answer, style)
        case Slots():
            return _slots(answer, style)
        case Named():
            return _named(answer)
        case Names():
            return _all_names(answer, style)


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
    sections.append(_section("May be the same", _perhaps(answer.perhaps, style)))
    related = [Line(f"/whoknows {_typed(one)}") for one in answer.related]
    sections.append(_section("Also decided about it", related))
    return Page(head, _kept(sections), tuple(_about(answer, counts["stale"], style)))


def _about(answer: WhoKnows, stale: int, style: Style) -> Iterator[Button]:
    """What can be done about it: telling who is wrong, and saying that one knows it oneself."""
    if answer.value is not None and stale:
        yield actions.plan(answer.entity.id)
    knowing = {one.person.id for one in answer.having("knows")}
    if answer.decided and style.me and style.me not in knowing:
        yield actions.know(answer.decided.event, style.at)


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
            actions.plan(one.entity.id),
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
    sections = [
        _section(_plan_title(i, plan), _plan(plan, answer.entity.id, best=i == 0))
        for i, plan in enumerate(answer.plans)
    ]
    return Page(head, _kept([*sections, by_hand]))


def _plan_title(number: int, plan: Plan) -> str:
    title = "Best plan" if number == 0 else f"Or ({number + 1})"
    return (
        f"{title}: reaches {plan.reached}, leaves {plan.wrong_after} wrong,"
        f" interrupts {plan.interrupted} who already know"
    )


def _plan(plan: Plan, entity: str, best: bool) -> list[Line]:
    lines = [Line(f"{_to(post)}: {_flat(post.text.splitlines()[0])}") for post in plan.messages]
    button = actions.post(entity, version_of(plan), best, len(plan.messages))
    return [lines[0]._replace(button=button), *lines[1:]]


def version_of(shown: Plan | Handoff) -> str:
    """What tells whether somebody was shown just this: the posts, or what is handed over."""
    if isinstance(shown, Plan):
        return actions.version(repr(shown))
    lacks = [(one.entity.id, one.value) for one in shown.lacks]
    wrong = [(one.entity.id, one.value, one.holds) for one in shown.wrong]
    told = [(one.to.id, one.entity.id, one.told, one.actual) for one in shown.promises]
    return actions.version(repr((shown.text, lacks, wrong, told)))


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
        (actions.hand(answer.from_person.id, answer.to_person.id, version_of(answer)),)
        if answer.text
        else (),
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
                _section("Outdated", [_mine(one, style) for one in stale]),
                _section("Up to date", [_mine(one, style) for one in fresh]),
            ]
        ),
    )


def _mine(one: Holding, style: Style) -> Line:
    """A line of one's own mind; what one said oneself one cannot have missed."""
    line = _holding(one, style)
    if one.status == "stale" and one.newer is not None:
        return line._replace(button=actions.know(one.newer, style.at))
    if one.evidence.grade == "stated":
        return line
    return line._replace(button=actions.unseen(one.evidence.event, style.at))


def _holding(one: Holding, style: Style) -> Line:
    now = f"; it is now {_value(one.actual)}" if one.actual else ""
    return Line(
        f"{_name(one.entity)}: {_value(one.value)}, {_where(one.evidence, style)}{now}",
        one.evidence.link,
    )


def _standing(answer: Standing, style: Style) -> Page:
    if not answer.messages and not answer.people and not answer.inbox.waiting:
        return Page(f"{answer.workspace}: nothing has been read yet.")
    return Page(
        f"{answer.workspace}: {_count(answer.messages, 'message')} of {_people(answer.people)} in"
        f" {_count(answer.rooms, 'room')} read; {_count(answer.statements, 'statement')} about"
        f" {_count(answer.entities, 'decision')}.",
        tuple(_inbox(answer.inbox, style)),
    )


def _inbox(inbox: Inbox, style: Style) -> Iterator[Section]:
    waits = []
    if inbox.waiting:
        since = f", the oldest since {_moment(inbox.oldest, style)}" if inbox.oldest else ""
        waits.append(Line(f"{_count(inbox.waiting, 'message')}{since}"))
    if inbox.behind is not None:
        waits.append(Line(_behind(inbox.behind, style)))
    if waits:
        yield Section("Not read yet", tuple(waits))
    if inbox.aside:
        shown = [
            Line(
                f"{plain(one.key)} in {_room(one.room)}, {_moment(one.at, style)}: {plain(one.why)}"
            )
            for one in inbox.aside
        ]
        yield _section("Could not be read and was set aside (secondorder retry tries again)", shown)
    if inbox.review:
        yield _section("Read but not believed", _doubts(inbox.review, style))
    if inbox.spent:
        total = sum(one.dollars for one in inbox.spent)
        shown = [
            Line(
                f"{one.day:%d %b}: {_room(one.room) if one.room.id else 'no room'}"
                f" ${one.dollars:.4f}, {_count(one.calls, 'call')},"
                f" {one.tokens_in + one.tokens_out} tokens".removeprefix("0")
            )
            for one in inbox.spent
        ]
        yield _section(f"Reading cost ${total:.2f} in a week", shown)


def review(held: Sequence[Review], believed: int, style: Style) -> Page:
    """What is held for review, all of it; `believed`: how much of it no longer is."""
    head = f"{_count(len(held), 'statement')} read but not believed."
    if believed:
        head += f" {_count(believed, 'statement')} {'is' if believed == 1 else 'are'} believed now."
    lines = tuple(_doubts(held, style))
    return Page(head, (Section("Newest first", lines),) if lines else ())


def _doubts(held: Sequence[Review], style: Style) -> list[Line]:
    return [
        Line(
            f"{_flat(one.entity)}: {_value(one.value)} in {_room(one.room)},"
            f" {_moment(one.at, style)}: {one.reason}"
        )
        for one in sorted(held, key=lambda one: one.at, reverse=True)
    ]


def behind(page: Page, since: Behind | None, style: Style) -> Page:
    """An answer that may be incomplete, because reading is behind, says so."""
    if since is None:
        return page
    return page._replace(sections=(*page.sections, Section(_behind(since, style), ())))


def _behind(since: Behind, style: Style) -> str:
    why = plain(since.why)
    reason = why[:1].lower() + why[1:] if why[1:2].islower() or not why[1:2].isalpha() else why
    return f"Reading is behind since {_moment(since.since, style)}: {reason}"


def _moment(at: datetime, style: Style) -> str:
    return f"{at.astimezone(style.zone):%d %b %Y %H:%M}".removeprefix("0")


def _recorded(answer: Recorded, style: Style) -> Page:
    where = _where(answer.evidence, style)
    return Page(f"Recorded: {_name(answer.entity)} is {_value(answer.value)} ({where}).")


def _slots(answer: Slots, style: Style) -> Page:
    number = len(answer.slots) + answer.more
    lines = [
        Line(
            f"{_name(one.entity)}: "
            + ("nothing decided yet" if one.value is None else _value(one.value))
            + (f", {_said(one.decided, style)}" if one.decided else "")
            + (" (disputed)" if one.disputed else ""),
            one.decided.link if one.decided else None,
        )
        for one in answer.slots
    ]
    head = f"There {'is' if number == 1 else 'are'} {_count(number, 'decision')} about"
    section = _section("Ask about one of them with /whoknows", lines)
    return Page(
        f"{head} {_short(plain(answer.subject), _NAME)}.",
        (section._replace(more=section.more + answer.more),),
    )


def _named(answer: Named) -> Page:
    name, entity = f"“{_short(plain(answer.name), _NAME)}”", _name(answer.entity)
    where = f" in {_and([_room(room) for room in answer.rooms])}" if answer.rooms else ""
    if answer.same:
        head = f"{name} means {entity}{where if answer.changed else ' already'}."
    elif answer.changed:
        head = f"{name} does not mean {entity}{where}."
    else:
        head = f"{name} does not mean {entity}; there is nothing to take back."
    undo = (
        f"/{'different' if answer.same else 'same'} {plain(answer.name)} = {_typed(answer.entity)}"
    )
    shown = _section("To take it back", [Line(_short(undo, 2 * _NAME + 20))] * answer.changed)
    return Page(head, _kept([shown]))


def _all_names(answer: Names, style: Style) -> Page:
    if not answer.asked and not answer.confirmed:
        return Page("No name is in question and none was confirmed, as far as you may read.")
    asked = _count(len(answer.asked), "name")
    waits = "waits" if len(answer.asked) == 1 else "wait"
    head = f"{asked} {waits} for somebody to say what is meant; {len(answer.confirmed)} confirmed."
    confirmed = [_naming(one, style) for one in answer.confirmed]
    return Page(
        head,
        _kept(
            [
                _section("May be the same", _perhaps(answer.asked, style)),
                _section("Confirmed (/different takes it back)", confirmed),
            ]
        ),
    )


def _perhaps(asked: Sequence[Perhaps], style: Style) -> list[Line]:
    """Each question with what to type for yes and for no."""
    return [
        Line(
            f"Is “{_short(plain(one.name), _NAME)}” ({_room(one.room)}, {_day(one.at, style)})"
            f" the same as {_name(like)}? /same {_typed(one.entity)} = {_typed(like)}"
            f" or /different {_typed(one.entity)} = {_typed(like)}"
        )
        for one in asked
        for like in one.like
    ]


def _naming(one: Naming, style: Style) -> Line:
    where = f"in {_room(one.room)}" if one.room else "for everybody"
    name = _short(plain(one.name), _NAME)
    return Line(f"{name} = {_typed(one.entity)}, {where} on {_day(one.at, style)}")


def _typed(ref: Ref) -> str:
    """How it can be typed in a command: by its name, or by its key where the name cannot be."""
    name = plain(ref.name)
    return ref.id if not name or "=" in name or "＝" in name or len(name) > _NAME else name


# ------------------------------------------------------------------------------- pages of our own


def digest(items: Sequence[Sequence[FalseBelief]], style: Style) -> Page:
    """What is outdated and new, for everybody in a channel: one line for each entity."""
    lines = [
        Line(
            f"{_name(some[0].entity)} is {_value(some[0].actual)}, {_said(some[0].changed, style)};"
            f" {_names([one.person for one in some])} {'has' if len(some) == 1 else 'have'}"
            f" {_value(some[0].believes) if len({one.believes for one in some}) == 1 else 'an old value'}",
            some[0].changed.link,
            actions.plan(some[0].entity.id),
        )
        for some in items
    ]
    head = (
        "Somebody has an old value of one decision."
        if len(items) == 1
        else f"Somebody has an old value of each of {len(items)} decisions."
    )
    return Page(head, _kept([_section("New since the last digest", lines)]))


def home(
    mind: Mind | None,
    others: Sequence[FalseBelief],
    asked: Sequence[tuple[str, date, int]],
    buttons: Sequence[Button],
    style: Style,
) -> Page:
    """What somebody sees of themselves. `mind` None: they want to be left out. `asked`: by whom, when
    last, how often. Times are days: nobody is to be watched by them."""
    if mind is None:
        head = "You are left out: you are in no answer, count or plan."
        stale, fresh = list[Holding](), 0
    else:
        stale = [one for one in mind.holds if one.status == "stale"]
        fresh = len(mind.holds) - len(stale)
        head = (
            f"You have {_count(len(stale), 'outdated value')}; {_count(fresh, 'other')}"
            f" {'is' if fresh == 1 else 'are'} up to date."
        )
    known = [
        Line(
            f"{_name(one.person)} has {_value(one.believes)} for {_name(one.entity)}; it is"
            f" {_value(one.actual)} since {_said(one.changed, style)}",
            one.changed.link,
            actions.plan(one.entity.id),
        )
        for one in others
    ]
    askers = [
        Line(f"{_short(plain(who), _NAME)}, {_count(times, 'time')}, last on {day.day} {day:%b %Y}")
        for who, day, times in asked
    ]
    sections = [
        _section("What you have that no longer holds", [_mine(one, style) for one in stale]),
        _section("What you might correct for others", known),
        _section("Who asked about you", askers),
    ]
    return _cut(Page(head, _kept(sections), tuple(buttons)))


# ------------------------------------------------------------------------------- after a replay


def history(
    standing: Standing, timelines: Sequence[Timeline], late: Sequence[LateUse], style: Style
) -> Page:
    """What a workspace's own history shows: decided, changed, and who went on with an old value."""
    decided = [one for one in timelines if one.changes]
    changed = [one for one in decided if len(one.changes) > 1]
    head = _standing(standing, style).head
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
    shown = _kept(
        [
            _section("Changed", changes),
            _section("Went on with the old value", acted),
            _section("Decided once", settled),
        ]
    )
    return _cut(Page(head, shown))


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
    return Section(title, tuple(lines))


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
    when = _moment(evidence.at, style)
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
