"""What has arrived and is not applied yet: stored before anybody says so, and applied once.

It keeps bodies (JSON) under keys, in the order of their moments, lane by lane: a lane is a room, or
what else need not wait for others. It refuses to know what a body means and what applying it does. All
of it lies beside the graphs of its workspace, so that what is applied goes from here in the
transaction that writes it there:

    inbox           the stream: everything that waits, as it arrived
    inbox:ids       key to the entry of the stream          inbox:lanes   the lanes where something waits
    inbox:lane:<l>  the keys of one lane by their moment    inbox:read    what was read out of an entry
    inbox:done      keys that were applied, lately          inbox:tries   how often an entry failed
    inbox:aside     what was set aside, and why             inbox:reader  who applies, for a few seconds
    inbox:last      who applied last                        inbox:touched rooms with new lines, whose
                                                                          evidence is not written yet
    inbox:behind    since when nothing can be read, and why

What is to be posted (`outbox`) waits in the same way.

A key is kept as applied for `KEPT`, and at most the newest `MARKS` of them: platforms deliver again
within a day (Slack: at most 24 hours late), and what comes later still is recorded under the ids it
was recorded under, which changes nothing.

One process applies: it holds a lease, and every transaction that takes an entry out watches it. When
the lease is somebody else's by then, nothing is written and `Superseded` is raised.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any, NamedTuple

from engine.errors import Superseded, TooMuchWaiting
from engine.store import Beside, Command, Store
from engine.words import cleared, noted_in, part_of, part_of_note, said_in

KEPT = 7 * 24 * 3600 * 1_000_000
"""Microseconds for which it is remembered that a key was applied."""

MARKS = 500_000
"""So many applied keys at most are remembered; one takes about 130 bytes."""

MOST = 100_000
"""So many entries wait at most (default), those that were set aside included."""

QUEUES = ("inbox", "outbox")
"""The queues of a workspace: what somebody may be forgotten in."""

_PAGE = 500

_PUT = """
local key = ARGV[1]
if redis.call('HEXISTS', KEYS[2], key) == 1 or redis.call('HEXISTS', KEYS[6], key) == 1
  or redis.call('ZSCORE', KEYS[5], key) then return 0 end
if redis.call('XLEN', KEYS[1]) + redis.call('HLEN', KEYS[6]) >= tonumber(ARGV[7]) then return -1 end
local id = redis.call('XADD', KEYS[1], '*', 'key', key, 'lane', ARGV[2], 'at', ARGV[3],
  'by', ARGV[4], 'body', ARGV[5], 'arrived', ARGV[6])
redis.call('HSET', KEYS[2], key, id)
redis.call('SADD', KEYS[3], ARGV[2])
redis.call('ZADD', KEYS[4], ARGV[3], key)
return 1
"""

_TAKE_OUT = """
local id = redis.call('HGET', KEYS[2], ARGV[1])
if id then redis.call('XDEL', KEYS[1], id) end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
if redis.call('EXISTS', KEYS[4]) == 0 then redis.call('SREM', KEYS[3], ARGV[2]) end
redis.call('HDEL', KEYS[5], ARGV[1])
redis.call('HDEL', KEYS[6], ARGV[1])
return id
"""

_PUT_BACK = """
local key = ARGV[1]
if redis.call('HDEL', KEYS[5], key) == 0 then return 0 end
local id = redis.call('XADD', KEYS[1], '*', 'key', key, 'lane', ARGV[2], 'at', ARGV[3],
  'by', ARGV[4], 'body', ARGV[5], 'arrived', ARGV[6])
redis.call('HSET', KEYS[2], key, id)
redis.call('SADD', KEYS[3], ARGV[2])
redis.call('ZADD', KEYS[4], ARGV[3], key)
return 1
"""

_REWRITE = """
local id = redis.call('HGET', KEYS[2], ARGV[1])
if not id then return 0 end
redis.call('XDEL', KEYS[1], id)
id = redis.call('XADD', KEYS[1], '*', 'key', ARGV[1], 'lane', ARGV[2], 'at', ARGV[3],
  'by', ARGV[4], 'body', ARGV[5], 'arrived', ARGV[6])
redis.call('HSET', KEYS[2], ARGV[1], id)
redis.call('HDEL', KEYS[3], ARGV[1])
return 1
"""

_HOLD = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
local last = redis.call('GET', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], ARGV[1])
return last == ARGV[1] and 1 or 2
"""

_LET_GO = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end"


class Entry(NamedTuple):
    """One thing that arrived. `at`, `arrived`: microseconds, when it was said and when it came.

    `by`: the person whose it is, empty for none. `read`: what was read out of it before, None where
    it was not read. `tries`: how often it failed.
    """

    key: str
    lane: str
    at: int
    by: str
    body: str
    arrived: int
    tries: int = 0
    read: str | None = None


class Aside(NamedTuple):
    """An entry that was set aside at `since` (microseconds), and why."""

    entry: Entry
    why: str
    since: int


class Backlog(NamedTuple):
    """How much waits in a lane, and the moment of the oldest (microseconds)."""

    waiting: int
    oldest: int


class Head(NamedTuple):
    """The first keys of a lane, as `(at, key)` in order; `more`: others wait after them."""

    first: list[tuple[int, str]]
    more: bool


class Behind(NamedTuple):
    """Since when (microseconds) nothing can be read, and why."""

    since: int
    why: str


class Queue:
    """A workspace's; `most`: how many entries may wait before no more are taken. `name`: under which
    keys it lies; one of each name."""

    def __init__(self, store: Store, most: int = MOST, name: str = "inbox") -> None:
        self._store = store
        self._most = most
        self._name = name
        self._token = secrets.token_hex(8)

    # ---------------------------------------------------------------------------- arriving

    def put(self, entry: Entry) -> bool:
        """Stores what arrived, in one round trip; returns whether it was new.

        Not new is what waits, what was set aside and what was applied lately. After a lost connection it
        is asked again, and an entry that was stored the first time is not called new. Raises
        TooMuchWaiting, and nothing is stored.
        """
        keys = ("", ":ids", ":lanes", _lane(entry.lane), ":done", ":aside")
        [answer] = self._ask(self._script(_PUT, keys, *_fields(entry), self._most))
        if answer < 0:
            raise TooMuchWaiting(
                f"{self._most} messages wait or were set aside: no more are taken until some are read."
            )
        return bool(answer)

    # ---------------------------------------------------------------------------- waiting

    def heads(self, each: int, total: int = 0) -> dict[str, Head]:
        """What was said first in every lane where something waits: `each`, or more where few lanes
        wait and `total` allows it."""
        lanes = self._lanes()
        count = max(each, total // max(1, len(lanes)))
        found = self._ask(
            *(("ZRANGE", self._key(_lane(lane)), 0, count, "WITHSCORES") for lane in lanes)
        )
        heads = {
            lane: [(int(float(at)), key) for key, at in _pairs(some)]
            for lane, some in zip(lanes, found, strict=True)
            if some
        }
        return {lane: Head(some[:count], len(some) > count) for lane, some in heads.items()}

    def entries(self, keys: Sequence[str]) -> list[Entry]:
        """The entries with these keys, in their order; what is gone meanwhile is left out."""
        found: list[Entry] = []
        for some in batched(keys, _PAGE):
            ids, tries, read = self._ask(
                *(("HMGET", self._key(part), *some) for part in (":ids", ":tries", ":read"))
            )
            there = [n for n, id in enumerate(ids) if id]
            stored = self._ask(*(("XRANGE", self._key(), ids[n], ids[n]) for n in there))
            found += [
                _entry(one[0][1])._replace(tries=int(tries[n] or 0), read=read[n])
                for n, one in zip(there, stored, strict=True)
                if one
            ]
        return found

    def backlog(self) -> dict[str, Backlog]:
        """How much waits, lane by lane."""
        lanes = self._lanes()
        asked: list[Command] = []
        for lane in lanes:
            key = self._key(_lane(lane))
            asked += [("ZCARD", key), ("ZRANGE", key, 0, 0, "WITHSCORES")]
        found = self._ask(*asked)
        return {
            lane: Backlog(int(found[2 * n]), int(float(_pairs(found[2 * n + 1])[0][1])))
            for n, lane in enumerate(lanes)
            if found[2 * n] and found[2 * n + 1]
        }

    def _lanes(self) -> list[str]:
        [found] = self._ask(("SMEMBERS", self._key(":lanes")))
        return sorted(found)

    # ---------------------------------------------------------------------------- who applies

    def hold(self, seconds: float) -> bool | None:
        """Takes the lease, or keeps it, for so long; None when it is somebody else's. True when
        others may have applied since we did: what was known from before does not hold any more. A
        lease of ours that ran out, and that nobody took, is kept."""
        [answer] = self._ask(
            self._script(_HOLD, (":reader", ":last"), self._token, max(1, int(seconds * 1000)))
        )
        return None if answer == 0 else answer == 2

    def let_go(self) -> None:
        """Gives the lease back, so that another may go on at once."""
        self._ask(self._script(_LET_GO, (":reader",), self._token))

    @property
    def _lease(self) -> tuple[str, str]:
        return self._key(":reader"), self._token

    # ---------------------------------------------------------------------------- applying

    def done(self, entry: Entry, now: int, touched: str | None = None) -> Beside:
        """What takes an applied entry out, in the transaction that applies it; `touched`: a room
        with lines whose evidence is to be written."""
        done = self._key(":done")
        commands: list[Command] = [
            self._taken_out(entry),
            ("ZADD", done, now, entry.key),
            ("ZREMRANGEBYSCORE", done, "-inf", f"({now - KEPT}"),
            ("ZREMRANGEBYRANK", done, 0, -(MARKS + 1)),
        ]
        if touched is not None:
            commands.append(("SADD", self._key(":touched"), touched))
        return Beside(tuple(commands), self._lease)

    @property
    def fence(self) -> Beside:
        """Nothing beside an event, but only while the lease is ours."""
        return Beside((), self._lease)

    def keep_read(self, read: Mapping[str, str]) -> None:
        """Keeps what was read out of entries until they are applied."""
        if read:
            pairs = [part for pair in read.items() for part in pair]
            self._fenced(("HSET", self._key(":read"), *pairs))

    def failed(self, entry: Entry) -> int:
        """Counts one more failure of an entry; how many there are now."""
        [tries] = self._fenced(("HINCRBY", self._key(":tries"), entry.key, 1))
        return int(tries)

    def set_aside(self, entry: Entry, why: str, now: int) -> None:
        """Takes an entry out of the way, for a person to look at."""
        kept = json.dumps([*_fields(entry), why, now])
        self._fenced(self._taken_out(entry), ("HSET", self._key(":aside"), entry.key, kept))

    def touched(self) -> list[str]:
        """The rooms in which something was applied whose evidence is not written yet."""
        [found] = self._ask(("SMEMBERS", self._key(":touched")))
        return sorted(found)

    def settled(self, room: str) -> None:
        """A room's evidence is written."""
        self._fenced(("SREM", self._key(":touched"), room))

    def _taken_out(self, entry: Entry) -> Command:
        keys = ("", ":ids", ":lanes", _lane(entry.lane), ":read", ":tries")
        return self._script(_TAKE_OUT, keys, entry.key, entry.lane)

    # ---------------------------------------------------------------------------- what failed

    def asides(self) -> list[Aside]:
        """What was set aside, in the order in which it was said."""
        [found] = self._ask(("HVALS", self._key(":aside")))
        return sorted(
            (_aside(text) for text in found), key=lambda one: (one.entry.at, one.entry.key)
        )

    def put_back(self, keys: Iterable[str], now: int) -> int:
        """Has what was set aside applied again, as if it had arrived now; how many there were."""
        wanted = set(keys)
        some = [one.entry for one in self.asides() if one.entry.key in wanted]
        if not some:
            return 0
        answers = self._ask(
            *(
                self._script(
                    _PUT_BACK,
                    ("", ":ids", ":lanes", _lane(entry.lane), ":aside"),
                    *_fields(entry._replace(arrived=now)),
                )
                for entry in some
            )
        )
        return sum(map(int, answers))

    def fall_behind(self, why: str, now: int) -> None:
        """Notes that nothing can be read; since when is what was noted first."""
        key = self._key(":behind")
        self._ask(("HSETNX", key, "since", now), ("HSET", key, "why", why))

    def catch_up(self) -> None:
        """Something could be read."""
        self._ask(("DEL", self._key(":behind")))

    def behind(self) -> Behind | None:
        [since, why] = self._ask(("HMGET", self._key(":behind"), "since", "why"))[0]
        return None if since is None else Behind(int(since), why or "")

    # ---------------------------------------------------------------------------- forgetting

    def forget(self, person: str) -> None:
        """What is theirs goes, also out of the hands of who is applying it: the lease is broken,
        and whoever takes it begins anew. What others said is rewritten without the id."""
        self._ask(("DEL", self._key(":reader"), self._key(":last")))
        for entry in self._all():
            body = without(person, entry.body)
            read = entry.read is not None and noted_in(entry.read, person)
            if entry.by == person or body is None or _made_with(entry, person):
                self._ask(self._taken_out(entry))
            elif body != entry.body or read:
                rewritten = self._script(
                    _REWRITE, ("", ":ids", ":read"), *_fields(entry._replace(body=body))
                )
                self._ask(rewritten)
        for one in self.asides():
            entry = one.entry
            body = without(person, entry.body)
            if entry.by == person or body is None or _made_with(entry, person):
                self._ask(("HDEL", self._key(":aside"), entry.key))
            elif body != entry.body or said_in(one.why, [person]):
                kept = json.dumps([*_fields(entry._replace(body=body)), "", one.since])
                self._ask(("HSET", self._key(":aside"), entry.key, kept))
        [marks] = self._ask(("ZRANGE", self._key(":done"), 0, -1))
        theirs = [key for key in marks if _part_of_key(key, person)]
        if theirs:
            self._ask(("ZREM", self._key(":done"), *theirs))

    def _all(self) -> Iterator[Entry]:
        for head in self.heads(2 * MOST).values():
            yield from self.entries([key for _, key in head.first])

    # ---------------------------------------------------------------------------- inside

    def _key(self, part: str = "") -> str:
        return self._store.key(f"{self._name}{part}")

    def _script(self, text: str, keys: Sequence[str], *values: str | int) -> Command:
        return ("EVAL", text, len(keys), *map(self._key, keys), *values)

    def _ask(self, *commands: Command) -> list[Any]:
        return self._store.beside(Beside(commands)) if commands else []

    def _fenced(self, *commands: Command) -> list[Any]:
        return self._store.beside(Beside(commands, self._lease))


# ------------------------------------------------------------------------------- plain values


def without(person: str, body: str) -> str | None:
    """A body (JSON) that names somebody in place of a person's id; None where another id is made with
    it. In a text only whole words are the person: `Ann` is in neither `Annual` nor `Ann-Marie`."""
    if person not in body:
        return body

    def clear(value: Any) -> Any:
        match value:
            case str():
                return cleared(value, [person])
            case list():
                return [clear(one) for one in value]
            case dict():
                return {key: clear(one) for key, one in value.items()}
            case _:
                return value

    given = json.loads(body)
    kept = clear(given)
    if part_of_note(body, person) and part_of_note(json.dumps(kept), person):
        return None
    return body if kept == given else json.dumps(kept)


def _made_with(entry: Entry, person: str) -> bool:
    return part_of(entry.lane, person) or _part_of_key(entry.key, person)


def _part_of_key(key: str, person: str) -> bool:
    return any(part_of(part, person) for part in key.split("/"))


def _lane(lane: str) -> str:
    return f":lane:{lane}"


def _fields(entry: Entry) -> tuple[str | int, ...]:
    """As the scripts and the stream take them."""
    return (entry.key, entry.lane, entry.at, entry.by, entry.body, entry.arrived)


def _entry(fields: Mapping[str, str]) -> Entry:
    return Entry(
        fields["key"], fields["lane"], int(fields["at"]), fields["by"], fields["body"],
        int(fields["arrived"]),
    )  # fmt: skip


def _aside(text: str) -> Aside:
    key, lane, at, by, body, arrived, why, since = json.loads(text)
    return Aside(Entry(key, lane, at, by, body, arrived), why, since)


def _pairs(found: Sequence[Any]) -> list[tuple[str, Any]]:
    """What a sorted set answers, flat or in pairs: redis-py makes either of it."""
    if found and isinstance(found[0], list | tuple):
        return [(key, at) for key, at in found]
    return list(zip(found[::2], found[1::2], strict=True))


__all__ = ["Aside", "Backlog", "Behind", "Entry", "Head", "Queue", "Superseded", "TooMuchWaiting"]
