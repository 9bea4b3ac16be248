"""A chat that is a prompt: you are anyone, in any room you are in.

    @maya decision-42: approved        Maya says it in the current room
    @maya #support decision-42: done   … in #support
    /whoknows decision-42              asked as whoever spoke last
    @bilal /misinformed                asked as Bilal
    /as @maya   /in #support           who you are, where you are
    /join #room   /leave #room         coming and going
    /people   /rooms   /help   /quit

It refuses to know the memory and what a line means; it turns what is typed into the chat's own
things, or says in one sentence why it cannot.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from bot.chat import Command, Enter, Exit, Message, Person, Room
from engine.errors import InvalidInput, UnknownPerson, UnknownRoom

HELP = "\n".join(line[4:] for line in (__doc__ or "").splitlines() if line.startswith("    "))

_SPEAKER = re.compile(r"@(\S+)\s*(.*)", re.S)
_ROOM = re.compile(r"#(\S+)\s+(.*)", re.S)
_COMMAND = re.compile(r"/([\w-]+)\s*(.*)", re.S)


class Quit(Exception):
    """The person at the prompt is done."""


class Console:
    """Holds who you are and where; `clock` gives the time, which never stands still."""

    def __init__(
        self,
        people: Iterable[Person],
        rooms: Iterable[Room],
        clock: Callable[[], datetime],
        not_before: datetime,
    ) -> None:
        self._people = [p for p in people if not p.bot and not p.gone]
        self._rooms = {room.id: room for room in rooms if room.kind in ("public", "private")}
        self._members = {id: set(room.members or ()) for id, room in self._rooms.items()}
        self._clock = clock
        self._last = not_before
        self.who: Person | None = None
        self.where: Room | None = None

    @property
    def prompt(self) -> str:
        who = self.who.name if self.who else "nobody yet"
        return f"{who} in #{self.where.name}> " if self.where else f"{who}> "

    def hear(self, line: str) -> Message | Command | Enter | Exit | str | None:
        """What a typed line is: something for the bot, something to print, or nothing.

        Raises Quit, or an error of one sentence.
        """
        line = line.strip()
        if not line:
            return None
        spoken = _SPEAKER.fullmatch(line)
        if spoken:
            self._become(spoken[1])
            line = spoken[2].strip()
            if not line:
                return None
        command = _COMMAND.fullmatch(line)
        if command:
            return self._command(command[1].casefold(), command[2].strip())
        placed = _ROOM.fullmatch(line)
        if placed:
            self._go(placed[1])
            line = placed[2].strip()
        return self._say(line)

    def _command(self, name: str, text: str) -> Command | Enter | Exit | str | None:
        match name:
            case "quit" | "exit":
                raise Quit
            case "help":
                return HELP
            case "as":
                self._become(text)
                return None
            case "in":
                self._go(text)
                return None
            case "people":
                return ", ".join(sorted(f"@{p.handle or p.name}" for p in self._people))
            case "rooms":
                return ", ".join(sorted(f"#{room.name}" for room in self._rooms.values()))
            case "join" | "leave":
                return self._move(name, text)
            case _:
                room = self.where.id if self.where else ""
                return Command(name=name, text=text, who=self._me().id, room=room, at=self._now())

    def _say(self, text: str) -> Message:
        me, room = self._me(), self._here()
        if me.id not in self._members[room.id]:
            raise InvalidInput(f"{me.name} is not in #{room.name}; /join #{room.name} first.")
        at = self._now()
        seconds, micros = divmod(int(at.timestamp() * 1_000_000), 1_000_000)
        ts = f"{seconds}.{micros:06d}"
        return Message(room=room.id, ts=ts, at=at, author=me.id, text=text)

    def _move(self, name: str, text: str) -> Enter | Exit:
        me = self._me()
        if text:
            self._go(text)
        room, at = self._here(), self._now()
        id = f"console-{name}-{me.id}-{room.id}-{int(at.timestamp() * 1_000_000)}"
        if name == "join":
            self._members[room.id].add(me.id)
            return Enter(id=id, at=at, person=me.id, room=room.id)
        self._members[room.id].discard(me.id)
        return Exit(id=id, at=at, person=me.id, room=room.id)

    def _become(self, text: str) -> None:
        wanted = text.strip().removeprefix("@").casefold()
        for field in ("id", "handle", "name"):
            found = [p for p in self._people if getattr(p, field).casefold() == wanted]
            if found:
                self.who = found[0]
                self._settle_in()
                return
        raise UnknownPerson(f"Nobody here is called {text[:60]!r}; /people lists everybody.")

    def _settle_in(self) -> None:
        """Where you are not, you cannot speak: into the room that most people share with you."""
        me = self._me().id
        if self.where is not None and me in self._members[self.where.id]:
            return
        mine = [room for room in self._rooms.values() if me in self._members[room.id]]
        if mine and self.where is None:
            self.where = max(mine, key=lambda room: (len(self._members[room.id]), room.name))

    def _go(self, text: str) -> None:
        wanted = text.strip().removeprefix("#").casefold()
        found = [r for r in self._rooms.values() if wanted in (r.id.casefold(), r.name.casefold())]
        if not found:
            raise UnknownRoom(f"There is no room {text[:60]!r}; /rooms lists them all.")
        self.where = found[0]

    def _me(self) -> Person:
        if self.who is None:
            raise InvalidInput("Say who you are first: /as @name, or begin with @name.")
        return self.who

    def _here(self) -> Room:
        if self.where is None:
            raise InvalidInput("Say where you are first: /in #room, or write @name #room text.")
        return self.where

    def _now(self) -> datetime:
        self._last = max(self._clock(), self._last + timedelta(microseconds=1))
        return self._last
