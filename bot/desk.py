"""What a command, a press and a visit are answered with, as `bot.chat.Desk` asks for it.

Every answer is made for the person it is shown to and shown to nobody else, unless that person asks for
it to be heard (`--aloud`) and everybody who reads the room gets the very same answer from what all of
them may read. A press is asked again as the person who presses. Whoever addresses us always gets an
answer or a reason, in one sentence. It refuses to know how a page is shown, and what people wrote is
never logged.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import NamedTuple

import structlog

from bot import actions, asked, backlog, lines, questions, render
from bot.chat import Command, Press, Reply
from bot.digest import Digests, zone_of
from bot.outbox import Order, Outbox, Written
from bot.pages import Button, Line, Page, Section
from bot.perception import Crowds
from bot.questions import QUESTIONS, Answer
from bot.render import Style
from bot.telling import MISSING, OUTDATED, Teller
from engine import InvalidInput, Memory, PersonInfo, UnknownPerson, nearest
from engine.beliefs import (
    CommonGround,
    Explanation,
    FalseBelief,
    Handoff,
    Mind,
    Misinformed,
    Standing,
    WhoKnows,
)
from engine.errors import SecondOrderError, StoreError
from engine.memory import Spoken
from engine.rules import same

ALOUD = re.compile(r"(?:^|\s)(?:--|—|–)aloud(?=\s|$)", re.I)
"""How an answer is asked for that the whole room sees; chats make one dash of two."""

WAITS = 0.8
"""Seconds for which something long is waited for before it is said that it goes on."""

NOTHING_STATED = "Nothing is stated in that message, as far as you may read."
SORRY = "That did not work here; it was noted."
NOT_ALOUD = "Only you see this: not everybody who reads this room may read all of it."
FORGOTTEN = "You asked to be forgotten, so nothing is kept of you and you cannot be answered."
STRANGER = "You are not known here yet: once you are in a channel that I am in, ask again."

_WRITES = frozenset(("decide", "same", "different"))
_PLAIN_NAME = re.compile(r"(?<![<\w])@[^\s<>@,]+")
_OWN = ("help", "forget", "who-missed", "record")
_log = structlog.get_logger("secondorder.desk")

HELP = (
    ("whoknows decision-42", "who knows it, who has an old value, who could have seen it"),
    ("misinformed [@person | decision]", "what people hold that no longer is so"),
    ("announce-plan decision-42", "the fewest messages that repair it; a button posts them"),
    ("handoff @from @to", "what the second needs that the first knows; a button hands it over"),
    ("decide decision-42 ship friday", "records a decision, out loud"),
    ("explain @person decision-42", "why somebody is thought to hold a value"),
    ("common-ground @a @b", "what both know, and know that the other knows"),
    ("mymind", "what you are thought to know, and what you can say about that"),
    ("names, same, different", "which names mean one decision"),
    ("status", "what was read; with `digest 9:00` a digest for this channel, `digest off` ends it"),
    ("forget me", "erases what you said and what you are thought to know"),
)


class _Asker(NamedTuple):
    """Who is answered."""

    id: str
    style: Style


class Desk:
    """One workspace's. `me`: who we are there. `clock` gives the time."""

    def __init__(
        self,
        memory: Memory,
        outbox: Outbox,
        digests: Digests,
        me: str,
        crowds: Crowds | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._memory = memory
        self._crowds = crowds or Crowds()
        self._digests = digests
        self._clock = clock
        self._teller = Teller(memory, outbox, me, self._crowds)
        self._long: set[asyncio.Task[None]] = set()

    def compose(self, order: Order) -> Written | str:
        """What is posted for an order, as things stand now (`bot.outbox.Compose`)."""
        if order.kind in ("digest", "shift"):
            return self._digests.compose(order, self._clock())
        return self._teller.compose(order)

    # ---------------------------------------------------------------------------- commands

    async def ask(self, command: Command) -> Reply:
        return await self._answering(lambda: self._ask(command), command) or Reply(page=Page(SORRY))

    def _ask(self, command: Command) -> Reply:
        name = command.name.removeprefix("/").strip().casefold()
        aloud, text = _without_aloud(command.text)
        command = command.model_copy(update={"name": name, "text": text})
        if name in ("", "help"):
            return Reply(page=_help())
        self._person(command.who)
        match name:
            case "who-missed":
                return Reply(page=self._who_missed(command))
            case "record":
                return Reply(page=self._to_record(command))
            case "forget":
                return Reply(page=_forgetting(text, command.who, self._person(command.who)))
            case "status" if re.match(r"digest\b", text, re.I):
                person = self._person(command.who)
                return Reply(page=Page(self._digests.command(command, person.zone)))
            case _:
                return self._question(command, aloud)

    def _question(self, command: Command, aloud: bool) -> Reply:
        if command.name not in QUESTIONS:
            known = ", ".join(f"/{name}" for name in (*QUESTIONS, *_OWN[:2]))
            near = nearest(command.name, [*QUESTIONS, *_OWN[:2]])
            name = f"/{command.name[:40]}"
            raise InvalidInput(
                f"There is no command {name!r}; these are: {known}.", [f"/{one}" for one in near]
            )
        answer = questions.answer(self._memory, command, self._crowds)
        about = questions.named(self._memory, command, answer)
        asked.keep(self._memory, command.who, command.name, about, command.at)
        if command.name == "decide":
            return Reply(page=self._page(answer, command, everybody=True), aloud=True)
        if not aloud:
            return Reply(page=self._page(answer, command))
        if self._may_be_heard(command, answer):
            return Reply(page=self._page(answer, command, everybody=True), aloud=True)
        page = self._page(answer, command)
        return Reply(page=page._replace(sections=(*page.sections, Section(NOT_ALOUD, ()))))

    def _may_be_heard(self, command: Command, answer: Answer) -> bool:
        """Whether everybody who reads the room gets just this answer, from what all of them may read."""
        shared = questions.shared(self._memory, command.room, command.who)
        if shared is None or command.name in _WRITES:
            return False
        try:
            return questions.answer(self._memory, command, self._crowds, shared) == answer
        except SecondOrderError:
            return False

    def _page(self, answer: Answer, command: Command, everybody: bool = False) -> Page:
        style = self._style(command.who, command.at, command.room if everybody else None)
        style = style._replace(again=_again(answer, command, self._memory))
        return render.behind(render.page(answer, style), backlog.behind(self._memory), style)

    def _style(self, who: str, at: datetime, room: str | None = None) -> Style:
        """The reader's; with `room`, that of everybody who reads it: no name of another room, and no
        button of one person's own."""
        person, shared = self._person(who), None
        readable = self._memory.reader(who).rooms
        if room is not None:
            shared = questions.shared(self._memory, room, who)
            readable &= shared.reader.rooms if shared else {room}
        names = {p.id: p.name for p in self._memory.people()}
        names |= {r.id: r.name for r in self._memory.rooms() if r.id in readable}
        return Style(zone_of(person.zone), names, "" if room is not None else who, at)

    def _person(self, who: str) -> PersonInfo:
        """Whoever asks. Who wants to be left out of answers may ask all the same."""
        for one in self._memory.people(everyone=True):
            if one.id == who and not one.bot:
                return one
        raise UnknownPerson(FORGOTTEN if self._memory.forgets(who) else STRANGER)

    # ---------------------------------------------------------------------------- one message

    def _who_missed(self, command: Command) -> Page:
        """ "Who missed this?": of what a message states, who knows it and who does not."""
        found = self._stated_in(command)
        if not found:
            return Page(NOTHING_STATED)
        if len({one.entity for one in found}) > 1:
            said = [
                Line(
                    f"{render.plain(one.name)}: {render.plain(one.value)}",
                    None,
                    actions.who(one.entity),
                )
                for one in found
            ]
            return Page(
                f"That message states {len(found)} things.",
                (Section("Ask about one", tuple(said)),),
            )
        one = found[-1]
        about = command.model_copy(update={"name": "whoknows", "text": one.entity})
        answer = questions.answer(self._memory, about, self._crowds)
        page = self._page(answer, about)
        if (
            isinstance(answer, WhoKnows)
            and answer.value is not None
            and same(answer.value) != same(one.value)
        ):
            page = page._replace(head=f"It has changed since. {page.head}")
        know, unseen = actions.know(one.event, command.at), actions.unseen(one.event, command.at)
        others = tuple(b for b in page.buttons if b.action != actions.KNOW)
        return page._replace(buttons=(*others, know, unseen))

    def _to_record(self, command: Command) -> Page:
        """ "Record as decision": what was read in a message, to be recorded by a press."""
        how = "Say which decision and which value: /decide decision-42 ship friday."
        found = self._stated_in(command)
        if not found:
            return Page(f"{NOTHING_STATED} {how}")
        said = tuple(
            Line(
                f"{render.plain(one.name)}: {render.plain(one.value)}",
                None,
                actions.record(one.event),
            )
            for one in found
        )
        return Page("This was read in it. Record it as decided?", (Section("Or: " + how, said),))

    def _stated_in(self, command: Command) -> list[Spoken]:
        """The statements of a message that the asker may read, oldest first. Of a message in a room that
        the asker may not read there are none, as of one that is not there."""
        reader = self._memory.reader(command.who)
        if command.ts is None or command.room not in reader.rooms:
            return []
        events = set(lines.events_of(self._memory, command.room, command.ts))
        return [one for one in self._memory.spoken(reader) if one.event in events] if events else []

    # ---------------------------------------------------------------------------- presses

    async def press(self, press: Press) -> Reply | None:
        match press.action:
            case actions.POST:
                return await self._pressed(self._teller.post, press)
            case actions.POSTED:
                return await self._pressed(self._teller.look, press)
            case actions.HAND:
                return await self._pressed(self._teller.hand, press)
            case actions.FORGET:
                return await self._forget(press)
            case _:
                return await self._answering(lambda: self._press(press), press)

    def _press(self, press: Press) -> Reply | None:
        self._person(press.who)
        match press.action:
            case actions.GOT | actions.KNOW:
                return self._teller.seen(press)
            case actions.UNSEEN:
                return self._teller.unseen(press)
            case actions.PLAN:
                return self._again_about("announce-plan", press)
            case actions.WHO:
                return self._again_about("whoknows", press)
            case actions.MORE:
                return self._more(press)
            case actions.RECORD:
                return self._record(press)
            case actions.LATER:
                return self._digests.put_off(press)
            case actions.QUIET | actions.NAMED:
                quiet = press.action == actions.QUIET
                self._digests.quieten(press.who, press.at, quiet)
                said = (
                    "You are not named in digests any more."
                    if quiet
                    else "You may be named in digests again."
                )
                back = actions.named() if quiet else actions.quiet()
                return Reply(page=Page(said, (), (back,)))
            case actions.OPT_OUT | actions.OPT_IN:
                out = press.action == actions.OPT_OUT
                self._memory.optout(press.who, out)
                said = (
                    "You are left out of every answer, count and plan from now on."
                    if out
                    else "You are in answers again."
                )
                return Reply(page=Page(said, (), (actions.opt_in() if out else actions.opt_out(),)))
            case _:
                return Reply(page=Page(OUTDATED))

    def _again_about(self, name: str, press: Press) -> Reply:
        fields = actions.fields(press.value, 1)
        if fields is None:
            return Reply(page=Page(OUTDATED))
        return Reply(page=self._page(*self._asked_again(name, fields[0], press)))

    def _asked_again(self, name: str, text: str, press: Press) -> tuple[Answer, Command]:
        command = Command(name=name, text=text, who=press.who, room=press.room, at=press.at)
        return questions.answer(self._memory, command, self._crowds), command

    def _more(self, press: Press) -> Reply:
        """So many lines of an answer from one on, asked for again."""
        fields = actions.fields(press.value)
        asking = _as_typed(fields[:-1]) if fields else None
        if fields is None or asking is None or not fields[-1].isdecimal():
            return Reply(page=Page(OUTDATED))
        answer, _ = self._asked_again(*asking, press)
        style = self._style(press.who, press.at)._replace(again=" ".join(fields[:-1]))
        page = render.part(answer, style, int(fields[-1][:6]))
        return Reply(page=page, instead=press.ts is None)

    def _record(self, press: Press) -> Reply:
        """A statement that somebody made, recorded as decided by whoever presses, in the room where it
        was made, aloud."""
        fields = actions.fields(press.value, 1)
        reader = self._memory.reader(press.who)
        found = [one for one in self._memory.spoken(reader) if fields and one.event == fields[0]]
        if not found or not found[0].room:
            return Reply(page=Page(MISSING))
        one = found[0]
        truth = self._memory.truth(one.entity, reader=reader)
        if truth.value is not None and same(truth.value) == same(one.value):
            return Reply(
                page=Page(f"It is decided: {render.plain(f'{one.name} is “{truth.value}”')}.")
            )
        name = one.name if questions.can_be_decided(one.name, one.value) else one.entity
        command = Command(
            name="decide", text=f"{name}: {one.value}", who=press.who, room=one.room, at=press.at
        )
        answer = questions.answer(self._memory, command, self._crowds)
        return Reply(page=self._page(answer, command, everybody=True), aloud=press.room == one.room)

    async def _pressed(
        self, do: Callable[[Press, Style], Awaitable[Reply]], press: Press
    ) -> Reply | None:
        async def done() -> Reply:
            style = await asyncio.to_thread(self._style, press.who, press.at)
            return await do(press, style)

        return await self._kept_calm(done, press.who, "")

    async def _forget(self, press: Press) -> Reply | None:
        """Only oneself. It is done also where it takes longer than somebody waits."""

        async def done() -> Reply:
            await asyncio.to_thread(self._person, press.who)
            task = asyncio.create_task(self._erase(press.who))
            self._long.add(task)
            task.add_done_callback(self._long.discard)
            finished, _ = await asyncio.wait({task}, timeout=WAITS)
            if not finished:
                return Reply(page=Page("You are being forgotten; it takes a moment."))
            task.result()
            return Reply(page=Page("You are forgotten: nothing of you is kept here."))

        return await self._kept_calm(done, press.who, "")

    async def _erase(self, person: str) -> None:
        await asyncio.to_thread(
            self._memory.forget, person, lambda note: lines.without(note, person)
        )

    async def finish(self) -> None:
        """Waits for what was begun and takes long."""
        if self._long:
            await asyncio.wait(set(self._long))

    # ---------------------------------------------------------------------------- the own page

    async def home(self, person: str) -> Page:
        reply = await self._kept_calm(lambda: asyncio.to_thread(self._home, person), person, "")
        return reply.page if reply else Page(SORRY)

    def _home(self, who: str) -> Reply:
        person, now = self._person(who), self._clock()
        style, mind, others = self._style(who, now), None, list[FalseBelief]()
        if not person.private:
            reader = self._memory.reader(who)
            mind = self._memory.mind_of(who, reader=reader)
            known = {one.entity.id for one in mind.holds if one.status == "knows"}
            wrong = self._memory.misinformed(reader=reader).beliefs
            others = [one for one in wrong if one.person.id != who and one.entity.id in known]
        names = {p.id: p.name for p in questions.visible(self._memory, self._memory.reader(who))}
        askers = [
            (names.get(by, "Somebody"), day, times)
            for by, day, times in asked.tally(asked.about(self._memory, who))
        ]
        quiet = self._digests.is_quiet(who)
        buttons: tuple[Button, ...] = (
            actions.opt_in() if person.private else actions.opt_out(),
            actions.named() if quiet else actions.quiet(),
            actions.forget(),
        )
        page = render.home(mind, others, askers, buttons, style)
        return Reply(page=render.behind(page, backlog.behind(self._memory), style))

    # ---------------------------------------------------------------------------- always an answer

    async def _answering(
        self, ask: Callable[[], Reply | None], what: Command | Press
    ) -> Reply | None:
        text = what.text if isinstance(what, Command) else ""
        return await self._kept_calm(lambda: asyncio.to_thread(ask), what.who, text)

    async def _kept_calm(
        self, ask: Callable[[], Awaitable[Reply | None]], who: str, text: str
    ) -> Reply | None:
        """Whatever goes wrong is one sentence. Bugs are logged by their kind alone."""
        try:
            return await ask()
        except StoreError as error:
            _log.warning("the memory did not answer", kind=error.kind)
            return Reply(page=Page("The memory cannot be reached just now; ask again in a minute."))
        except SecondOrderError as error:
            return Reply(page=await asyncio.to_thread(self._refusal, error, who, text))
        except Exception as error:  # noqa: BLE001 - whoever asks gets an answer
            _log.error("a question failed", kind=type(error).__name__)
            return Reply(page=Page(SORRY))

    def _refusal(self, error: SecondOrderError, who: str, text: str) -> Page:
        said = error.message
        if error.suggestions:
            said = f"{said} Did you mean: {', '.join(error.suggestions)}?"
        if isinstance(error, UnknownPerson):
            if said not in (FORGOTTEN, STRANGER):
                with_private = [
                    p for p in self._memory.people(everyone=True) if p.id == who and p.private
                ]
                if with_private and not text:
                    return Page(
                        "You asked to be left out, so nothing is thought of you.",
                        (),
                        (actions.opt_in(),),
                    )
            if _PLAIN_NAME.search(text):
                said = f"{said} Pick a person from the list that opens when you type @: then I am told who it is."
        return Page(render.plain(said))


# ------------------------------------------------------------------------------- plain values


def _without_aloud(text: str) -> tuple[bool, str]:
    found = ALOUD.search(text)
    return found is not None, ALOUD.sub("", text, count=1).strip()


def _help() -> Page:
    said = tuple(Line(f"/{usage}: {what}") for usage, what in HELP)
    end = Section("With --aloud at the end, the whole room sees the answer, where it may", ())
    return Page("Ask who knows what. Only you see the answer.", (Section("Ask", said), end))


def _forgetting(text: str, who: str, person: PersonInfo) -> Page:
    mine = {"me", who.casefold(), f"<@{who}>".casefold(), f"@{person.handle}".casefold()}
    if text.casefold() not in mine:
        return Page("Everybody can have themselves forgotten, and nobody else: /forget me.")
    return Page(
        "What you said and what you are thought to know is erased everywhere, for good. What you decided"
        " stays, as somebody's.",
        (),
        (actions.forget(),),
    )


def _again(answer: Answer, command: Command, memory: Memory) -> str:
    """An answer's question in ids alone, so that a button can ask it again; empty where it cannot."""
    match answer:
        case WhoKnows():
            return f"whoknows {answer.entity.id}"
        case Misinformed():
            people = questions.named(memory, command, answer)
            entities = {one.entity.id for one in answer.beliefs}
            entities |= {one.entity.id for one in answer.wrong_about_others}
            if not command.text.strip():
                return "misinformed"
            if people:
                return f"misinformed-person {min(people)}"
            return f"misinformed {entities.pop()}" if len(entities) == 1 else ""
        case Handoff():
            return f"handoff {answer.from_person.id} {answer.to_person.id}"
        case CommonGround():
            a, b = answer.people
            return f"common-ground {a.id} {b.id}"
        case Explanation() if len(answer.chain) == 1:
            return f"explain {answer.chain[0].id} {answer.entity.id}"
        case Mind():
            return "mymind"
        case Standing():
            return "status"
        case _:
            return ""


def _as_typed(fields: list[str]) -> tuple[str, str] | None:
    """Such a question as a command: name and text."""
    match fields:
        case ["whoknows" | "misinformed" as name, entity]:
            return name, entity
        case ["misinformed" | "mymind" | "status" as name]:
            return name, ""
        case ["misinformed-person", person]:
            return "misinformed", f"<@{person}>"
        case ["handoff" | "common-ground" as name, a, b]:
            return name, f"<@{a}> <@{b}>"
        case ["explain", person, entity]:
            return "explain", f"<@{person}> {entity}"
        case _:
            return None
