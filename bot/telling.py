"""Closing the loop: what is said to whom when somebody presses a button, and what that becomes.

Every press is answered by asking again as the person who presses: with their rights, as things stand at
that moment. What was shown before counts for nothing but for telling whether it is still so. It refuses
to know how a post is sent (`bot.outbox`) and where an answer is shown.

**How it is remembered.** What is posted in a room is said there by us: a `Say`, from the answer of the
chat, with whom it reached as witnesses, exactly those the plan counted. We notice its source before, so
that it restates what we know: it informs, and neither decides nor disputes anything. What is sent to
one person is a `Tell` by whoever had it sent, merely exposed until they say so: both may read it, nobody
else. "Got it" is a `Notice` of just the statement that was shown.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from bot import actions, handed, questions, render
from bot.chat import Command, Press, Reply
from bot.outbox import Order, Outbox, Outcome, Written, key_of
from bot.pages import Line, Page, Section
from bot.perception import Crowds
from bot.render import Style
from engine import Memory, Reader, RoomInfo, UnknownEntity
from engine.beliefs import Announcement, Handoff, Plan, Ref, Wording
from engine.errors import SecondOrderError
from engine.events import Notice, Say, Tell, Unsee
from engine.memory import Spoken
from engine.rules import same

WAITS = 0.7
"""Seconds for which a press waits for what it had posted, so that the reply can say what came of it."""

CHANGED = "It has changed since you were shown it."
MISSING = "That is not there, as far as you may read."
OUTDATED = "That button is of another time; ask again."


class Teller:
    """For one workspace; `me`: who we are there."""

    def __init__(self, memory: Memory, outbox: Outbox, me: str, crowds: Crowds) -> None:
        self._memory = memory
        self._outbox = outbox
        self._me = me
        self._crowds = crowds

    # ---------------------------------------------------------------------------- announcing

    async def post(self, press: Press, style: Style) -> Reply:
        """Posts a plan that the presser was shown, if it is still one; says what came of it."""
        fields = actions.fields(press.value, 2)
        if fields is None:
            return _said(OUTDATED)
        entity, version = fields
        answer = await asyncio.to_thread(self._announcement, press, entity)
        chosen = [plan for plan in answer.plans if render.version_of(plan) == version]
        if not chosen:
            page = render.page(answer, style)
            return _said(page._replace(head=f"{CHANGED} {page.head}"), press)
        orders = await asyncio.to_thread(self._orders, press, answer, chosen[0])
        keys = [order.key for order in orders]
        await self._outbox.put(orders, press.at)
        outcomes = await self._outbox.wait(keys, WAITS)
        done = _done(orders, outcomes, self._names(style))
        return _said(await asyncio.to_thread(self._after, press, answer, style, done), press)

    async def look(self, press: Press, style: Style) -> Reply:
        """Who is still wrong, of those who were."""
        fields = actions.fields(press.value, 2)
        if fields is None or not fields[1].isdecimal():
            return _said(OUTDATED)
        answer = await asyncio.to_thread(self._announcement, press, fields[0])
        before = max(int(fields[1][:6]), answer.wrong_before)
        return _said(_measured(before, answer, style, ()), press)

    def _announcement(self, press: Press, entity: str) -> Announcement:
        answer = questions.answer(
            self._memory, _command("announce-plan", entity, press), self._crowds
        )
        assert isinstance(answer, Announcement)
        return answer

    def _orders(self, press: Press, answer: Announcement, plan: Plan) -> list[Order]:
        entity, wrong = answer.entity.id, str(answer.wrong_before)
        reader = self._memory.reader(press.who)
        shown = self._memory.truth(entity, reader=reader).evidence
        version = shown.event if shown else ""
        orders: list[Order] = []
        for post in plan.messages:
            if post.to.room is not None:
                named = tuple(one.id for one in post.mentions)
                key = key_of("say", post.to.room.id, entity, version, wrong, *named)
                about = (entity, version, *named)
                orders.append(
                    Order(kind="say", key=key, by=press.who, room=post.to.room.id, about=about)
                )
            elif post.to.person is not None:
                key = key_of("tell", press.who, post.to.person.id, entity, version, wrong)
                orders.append(
                    Order(
                        kind="tell", key=key, by=press.who, person=post.to.person.id,
                        about=(entity, version),
                    )
                )  # fmt: skip
        return orders

    def _after(self, press: Press, before: Announcement, style: Style, done: "_Done") -> Page:
        after = self._announcement(press, before.entity.id)
        return _measured(before.wrong_before, after, style, done.lines, done.waits)

    # ---------------------------------------------------------------------------- handing over

    async def hand(self, press: Press, style: Style) -> Reply:
        """Sends what one person needs from another; what may not be sent is said to the presser."""
        fields = actions.fields(press.value, 3)
        if fields is None:
            return _said(OUTDATED)
        a, b, version = fields
        answer = await asyncio.to_thread(self._handoff, press.who, a, b, press.at)
        if render.version_of(answer) != version or not answer.text:
            page = render.page(answer, style)
            changed = page.head if not answer.text else f"{CHANGED} {page.head}"
            return _said(page._replace(head=changed), press)
        order = Order(
            kind="hand", key=key_of("hand", press.who, a, b, version), by=press.who, person=b,
            about=(a, b),
        )  # fmt: skip
        by_hand = await asyncio.to_thread(self._by_hand, press.who, a, b)
        await self._outbox.put([order], press.at)
        outcome = (await self._outbox.wait([order.key], WAITS)).get(order.key)
        name = answer.to_person.name
        if outcome is None:
            head = f"It is being sent to {name}."
        elif outcome.posted:
            head = f"Handed over to {name}."
        else:
            head = f"It was not sent to {name}: {_small(outcome.why)}"
        told = tuple(Line(f"{one.name}") for one in by_hand)
        rest = Section("Not theirs to read; tell them by hand what you may", told)
        return _said(Page(render.plain(head), (rest,) if told else ()), press)

    def _handoff(self, who: str, a: str, b: str, at: datetime) -> Handoff:
        command = Command(name="handoff", text=f"<@{a}> <@{b}>", who=who, room="", at=at)
        answer = questions.answer(self._memory, command)
        assert isinstance(answer, Handoff)
        return answer

    def _by_hand(self, who: str, a: str, b: str) -> Sequence[Ref]:
        over = handed.over(self._memory, who, a, b)
        return self._memory.handover(a, b, self._memory.reader(who), over).by_hand

    # ---------------------------------------------------------------------------- what was seen

    def seen(self, press: Press) -> Reply:
        """ "Got it", or "I know this": stamps just the statements that were shown."""
        fields = actions.fields(press.value)
        if not fields:
            return _said(OUTDATED)
        nonce = fields.pop() if press.action == actions.KNOW else ""
        reader = self._memory.reader(press.who)
        found = self._found(reader, fields)
        if not found:
            return _said(MISSING)
        for one in found:
            self._memory.record(
                Notice(
                    id=self._mark(press, one.event, nonce), at=press.at, person=press.who,
                    event=one.event, grade="acknowledged",
                )
            )  # fmt: skip
        lines = [Line(self._noted(one, reader)) for one in found]
        if len(lines) == 1:
            return _said(f"Noted: {lines[0].text}.")
        return _said(Page(f"Noted: {len(lines)} things.", (Section("You know", tuple(lines)),)))

    def _noted(self, one: Spoken, reader: Reader) -> str:
        entity = self._memory.merged(reader).get(one.entity, one.entity)
        now = self._memory.truth(entity, reader=reader)
        noted = render.plain(f"{now.entity.name} is “{one.value}”")
        if now.value is None or same(now.value) == same(one.value):
            return noted
        return f"{noted}. It has changed since: it is now “{render.plain(now.value)}”"

    def unseen(self, press: Press) -> Reply:
        """ "I never saw this": from then on the presser is no witness of it."""
        fields = actions.fields(press.value, 2)
        if fields is None:
            return _said(OUTDATED)
        event, nonce = fields
        reader = self._memory.reader(press.who)
        found = self._found(reader, [event])
        if not found:
            return _said(MISSING)
        shown = self._memory.explain(press.who, found[0].entity, reader=reader)
        steps = [step for step in shown.steps if step.evidence.event == event]
        if any(step.how == "said" for step in steps):
            return _said("You said that yourself.")
        if steps:
            id = self._mark(press, event, nonce)
            self._memory.record(Unsee(id=id, at=press.at, person=press.who, event=event))
        return _said("Noted: you never saw that.")

    def _found(self, reader: Reader, events: Sequence[str]) -> list[Spoken]:
        wanted = set(events)
        return [one for one in self._memory.spoken(reader) if one.event in wanted]

    def _mark(self, press: Press, event: str, nonce: str) -> str:
        mark = key_of(press.action, event, press.who, nonce)
        return f"{self._memory.sid[:100]}-press-{mark}"

    # ---------------------------------------------------------------------------- what is posted

    def compose(self, order: Order) -> Written | str:
        """What an order of ours says as things stand now."""
        try:
            match order.kind:
                case "say":
                    return self._announced(order)
                case "tell":
                    return self._told(order)
                case "hand":
                    return self._over(order)
                case "failed":
                    return self._failed(order)
                case _:
                    return "This version does not know what that is."
        except SecondOrderError as error:
            return error.message

    def _announced(self, order: Order) -> Written | str:
        entity, version, *named = order.about
        reader = self._memory.reader(order.by)
        room = next((r for r in self._memory.rooms() if r.id == order.room), None)
        if room is None or order.by not in room.here or room.archived:
            return "Whoever asked for it is not in that room any more."
        wording = self._memory.wording(entity, reader, room=room.id)
        if wording is None or wording.decided != version:
            return CHANGED
        active = {p.id for p in self._memory.people() if not (p.gone or p.bot)}
        here = room.here & active
        small = len(here) <= self._crowds.of(room.id, room.name)
        reached = here if small else here & set(named)
        addressed = (here & set(named)) | self._wrong_there(entity, room.id) & reached
        said = Say(
            id=self._event(order), at=_SOMETIME, speaker=self._me, room=room.id,
            entity=wording.entity.id, value=wording.value, name=wording.entity.name,
            witnesses={p: "exposed" for p in sorted(reached - {order.by})}
            | {order.by: "acknowledged"},
            mentions=tuple(sorted(addressed - {order.by})),
        )  # fmt: skip
        page = self._page(order, wording, said.id)
        knew = self._knew(order, wording)
        return Written(page, said.mentions, (knew, said))

    def _wrong_there(self, entity: str, room: str) -> frozenset[str]:
        """Who has an old value, as everybody may see who reads the room: whom a post addresses."""
        shared = questions.shared(self._memory, room)
        if shared is None:
            return frozenset()
        try:
            found = self._memory.misinformed(entity=entity, reader=shared.reader)
        except UnknownEntity:
            return frozenset()
        return frozenset(one.person.id for one in found.beliefs)

    def _knew(self, order: Order, wording: Wording) -> Notice:
        """We know what we pass on: so it decides nothing anew."""
        source = wording.source
        return Notice(
            id=f"{self._event(order)}-source", at=_SOMETIME, person=self._me, event=source.event,
            room=source.room.id if source.room else None,
        )  # fmt: skip

    def _told(self, order: Order) -> Written | str:
        entity, version = order.about
        reader = self._memory.reader(order.by)
        wording = self._memory.wording(entity, reader, person=order.person)
        if wording is None or wording.decided != version:
            return CHANGED
        said = self._tell(order, self._event(order), wording.entity.id, wording.value)
        said = said.model_copy(update={"name": wording.entity.name})
        return Written(self._page(order, wording, said.id), (), (said,))

    def _over(self, order: Order) -> Written | str:
        a, b = order.about
        reader, over = self._memory.reader(order.by), handed.over(self._memory, order.by, a, b)
        found = self._memory.handover(a, b, reader, over)
        if not found.text:
            return "There is nothing left to hand over."
        head, *rest = found.text.splitlines()
        events = [
            self._tell(order, f"{self._event(order)}-{n}", one.entity.id, one.value).model_copy(
                update={"name": one.entity.name}
            )
            for n, one in enumerate(found.things)
        ]
        told = tuple(Line(render.plain(line.removeprefix("• "))) for line in rest)
        page = Page(
            render.plain(head),
            (Section("What you should know", told), self._asked_for(order)),
            (actions.got(tuple(one.id for one in events)),) if events else (),
        )
        notes = handed.notes(order.by, a, b, found.promises, datetime.now(UTC))
        return Written(page, (), tuple(events), tuple(notes))

    def _tell(self, order: Order, id: str, entity: str, value: str) -> Tell:
        speaker = order.by if order.by != order.person else self._me
        return Tell(
            id=id, at=_SOMETIME, speaker=speaker, listeners=(order.person,), entity=entity,
            value=value, grade="exposed",
        )  # fmt: skip

    def _page(self, order: Order, wording: Wording, event: str) -> Page:
        source = wording.source
        who = f"{source.speaker.name}, " if source.speaker else ""
        said = Line(render.plain(f"{who}{source.at:%d %b %Y}"), source.link)
        return Page(
            render.plain(f"{wording.entity.name} is now: {wording.value}"),
            (Section("Decided", (said,)), self._asked_for(order)),
            (actions.got((event,)),),
        )

    def _asked_for(self, order: Order) -> Section:
        names = {p.id: p.name for p in self._memory.people()}
        return Section(render.plain(f"{names.get(order.by, 'Somebody')} asked me to say this."), ())

    def _failed(self, order: Order) -> Written | str:
        rooms = {room.id: room for room in self._memory.rooms()}
        where = (
            f" in {_room(rooms[order.about[0]])}" if order.about and order.about[0] in rooms else ""
        )
        head = f"What you asked me to post{where} was not posted: {_small(order.why)}"
        return Written(Page(render.plain(head)))

    def _event(self, order: Order) -> str:
        return f"{self._memory.sid[:100]}-post-{order.key}"

    def _names(self, style: Style) -> Callable[[Order], str]:
        def name(order: Order) -> str:
            shown = style.names.get(order.lane, order.lane)
            return f"#{shown}" if order.room and not shown.startswith("#") else shown

        return name


# ------------------------------------------------------------------------------- plain values

_SOMETIME = datetime(1970, 1, 1, tzinfo=UTC)  # the moment of an event is that of its post


class _Done(NamedTuple):
    lines: tuple[Line, ...]
    waits: bool


def _done(
    orders: Sequence[Order], outcomes: dict[str, Outcome], name: Callable[[Order], str]
) -> _Done:
    lines: list[Line] = []
    for order in orders:
        outcome = outcomes.get(order.key)
        if outcome is None:
            lines.append(Line(f"{name(order)}: being posted"))
        elif outcome.posted:
            lines.append(Line(f"{name(order)}: posted"))
        else:
            lines.append(Line(f"{name(order)}: not posted. {outcome.why}"))
    return _Done(tuple(lines), any(order.key not in outcomes for order in orders))


def _measured(
    before: int, after: Announcement, style: Style, lines: Sequence[Line], waits: bool = False
) -> Page:
    """Who was wrong, and who is."""
    left = after.wrong_before
    were = f"{before} {'was' if before == 1 else 'were'} wrong about {after.entity.name}"
    head = f"{were}, {'nobody' if left == 0 else left} {'is' if left < 2 else 'are'} now."
    if left and left == before and waits:
        head = f"{were}; it is being posted."
    elif left:
        head = f"{were}, {left} still {'is' if left == 1 else 'are'}."
    sections = [Section("Messages", tuple(lines))] if lines else []
    if after.by_hand:
        names = tuple(Line(one.name) for one in after.by_hand[: render.MOST])
        sections.append(Section("May not read the source; tell them by hand", names))
    buttons = (actions.posted(after.entity.id, before),) if left else ()
    return Page(render.plain(head), tuple(sections), buttons)


def _command(name: str, text: str, press: Press) -> Command:
    return Command(name=name, text=text, who=press.who, room=press.room, at=press.at)


def _said(what: str | Page, press: Press | None = None) -> Reply:
    """`press`: what the page with its button is replaced for, where only the presser saw it."""
    page = Page(render.plain(what)) if isinstance(what, str) else what
    return Reply(page=page, instead=press is not None and press.ts is None)


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _room(room: RoomInfo) -> str:
    return room.name if room.name.startswith("#") or " " in room.name else f"#{room.name}"
