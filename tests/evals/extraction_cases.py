"""Cases of an extraction evaluation: their file, the windows they are read in, the predictions file.

It refuses to judge: what is right is extraction_score.py's business. Ids in a case may be anything
that JSON can say; they come back in the predictions as they were given.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from extraction import CannotRead, Known, Passage, Statement, Window
from extraction.gate import admit
from extraction.references import entity_id

type Json = Any
"""What `json.loads` gives; every use looks before it trusts."""

type Kind = Literal["decision", "mention", "report"]

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_DIRECT = "dm:"
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")  # engine.events.Id
_NEW = "new:"


class CaseError(Exception):
    """One sentence: which file, what is wrong with it."""


class Unread(NamedTuple):
    """A line that is no case or says in no readable way what is wanted, or a case that the extractor
    could not read, and why. `id`: that of a line that is no case, where it has one."""

    line: int
    why: str
    id: Json = None


class Stated(NamedTuple):
    """One statement, wanted or found. `entity`: an id, or `new:` and a name. `speaker` is empty
    where a wanted statement leaves it out."""

    kind: Kind
    message: str
    speaker: str
    about: str
    addressees: tuple[str, ...]
    entity: str
    value: str
    quote: str
    raw: Mapping[str, Json]


class Case(NamedTuple):
    """`ids`: every id as text, to what it was in the file. `want`: None where the line has none."""

    line: int
    id: Json
    people: Mapping[str, str]
    entities: tuple[Known, ...]
    passages: tuple[Passage, ...]
    want: tuple[Stated, ...] | None
    ids: Mapping[str, Json]


# ------------------------------------------------------------------------------- reading


def read_cases(file: Path) -> tuple[list[Case], list[Unread]]:
    """The cases of a file, and what is wrong with its lines. Raises CaseError where there is no case.

    A line whose messages can be read and whose wanted statements cannot is a case, and listed.
    """
    try:
        lines = file.read_text("utf-8-sig", errors="surrogateescape").split("\n")
    except OSError as problem:
        raise CaseError(f"{file} cannot be read: {problem.strerror}.") from None
    cases: list[Case] = []
    unread: list[Unread] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = _object(line)
            cases.append(_case(number, given))
            want, wrong = _want(given, cases[-1])
            cases[-1] = cases[-1]._replace(want=want)
            unread += [Unread(number, f"{why}.") for why in wrong]
        except _Malformed as problem:
            unread.append(Unread(number, f"{problem}.", _known_id(line)))
    if not cases:
        why = f"line {unread[0].line}: {unread[0].why}" if unread else "it is empty."
        raise CaseError(f"{file} holds no case; {why}")
    return cases, unread


class _Malformed(Exception):
    """Why a line is no case, without its full stop."""


def _object(line: str) -> dict[str, Json]:
    try:
        line.encode()
        given = json.loads(line)
    except UnicodeEncodeError:
        raise _Malformed("this is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise _Malformed("this is not JSON") from None
    if not isinstance(given, dict):
        raise _Malformed('a case is an object, {"id", "people", "entities", "messages", "want"}')
    if _word(given.get("id")) is None:
        raise _Malformed('"id" is missing')
    return given


def _case(number: int, given: Mapping[str, Json]) -> Case:
    ids: dict[str, Json] = {}
    people = {
        _id(one, "people", ids): _text(one.get("name")) or _text(one["id"])
        for one in _objects(given, "people")
    }
    entities = tuple(_known(one, ids) for one in _objects(given, "entities"))
    passages = _passages(_objects(given, "messages"), ids)
    if not passages:
        raise _Malformed('"messages" is missing or empty')
    for one in passages:  # whoever speaks is somebody, listed or not
        if one.author:
            people.setdefault(one.author, one.author)
    return Case(number, given["id"], people, entities, passages, None, ids)


def _known_id(line: str) -> Json:
    """The id of a line that is no case, None where it has none."""
    try:
        id = _object(line)["id"]
    except _Malformed:
        return None
    return id if isinstance(id, str | int | float) else None


def _want(given: Mapping[str, Json], case: Case) -> tuple[tuple[Stated, ...] | None, list[str]]:
    """What is wanted of a case, and what is wrong with the wanted statements that cannot be read: the
    others are scored. Where it is no list at all, the case is read and not scored."""
    want = given.get("want")
    if want is None:
        return None, []
    if not isinstance(want, list):
        return None, ['"want" is not a list of objects']
    spoken = {one.id for one in case.passages}
    found: list[Stated] = []
    wrong: list[str] = []
    for one in want:
        try:
            if not isinstance(one, dict):
                raise _Malformed("a wanted statement is not an object")
            found.append(_wanted(one, spoken))
        except _Malformed as problem:
            wrong.append(str(problem))
    return (None if wrong and not found else tuple(found)), wrong


def _objects(given: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    found = given.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise _Malformed(f'"{name}" is not a list of objects')
    return found


def _word(value: Json) -> str | None:
    """An id as text; None where there is none."""
    if isinstance(value, str) and value:
        return _text(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: Json) -> str:
    """Text that can be written down: half of a surrogate pair is nobody's character."""
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _id(one: Mapping[str, Json], of: str, ids: dict[str, Json], field: str = "id") -> str:
    word = _word(one.get(field))
    if word is None:
        raise _Malformed(f'one of "{of}" has no "{field}"')
    ids.setdefault(word, one[field])
    return word


def _known(one: Mapping[str, Json], ids: dict[str, Json]) -> Known:
    """An entity of the case. What it is called binds like an alias: a person gave it that name."""
    id, value = _id(one, "entities", ids), _text(one.get("current_value")).strip()
    aliases = one.get("aliases") or []
    if not isinstance(aliases, list):
        raise _Malformed('"aliases" of an entity is not a list')
    name = _text(one.get("name")).strip() or id
    names = dict.fromkeys(_text(alias) for alias in (*aliases, name) if alias)
    return Known(
        id=id,
        name=name,
        aliases=tuple(names),
        values=(value,) if value else (),
    )


def _passages(messages: Sequence[Mapping[str, Json]], ids: dict[str, Json]) -> tuple[Passage, ...]:
    """The messages in the order they were said; in the file's where that is not known of all."""
    times = [_moment(one.get("at")) for one in messages]
    known = [time for time in times if time is not None]
    order = list(range(len(messages)))
    if len(known) == len(times):
        order.sort(key=known.__getitem__)
    found: list[Passage] = []
    last = _BEGINNING
    for place in order:
        one = messages[place]
        last = times[place] or last + timedelta(seconds=1)
        room = _text(one.get("room"))
        found.append(
            Passage(
                id=_id(one, "messages", ids),
                author=""
                if one.get("author") in (None, "")
                else _id(one, "messages", ids, "author"),
                room=room,
                at=last,
                text=_text(one.get("text")),
                thread=_word(one.get("thread")),
                app=one.get("app") is True,
                direct=room.startswith(_DIRECT),
            )
        )
    if len({one.id for one in found}) < len(found):
        raise _Malformed('two of "messages" have the same "id"')
    return tuple(found)


def _moment(at: Json) -> datetime | None:
    """ISO 8601, or seconds since 1970; UTC where no zone is given."""
    try:
        if isinstance(at, int | float) and not isinstance(at, bool):
            return datetime.fromtimestamp(at, UTC)
        found = datetime.fromisoformat(at) if isinstance(at, str) else None
        if found is None:
            return None
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _wanted(one: Mapping[str, Json], spoken: set[str]) -> Stated:
    message, entity = _word(one.get("message")), _word(one.get("entity"))
    if message not in spoken:
        raise _Malformed('a wanted statement has a "message" that is none of the case')
    if entity is None or not _text(one.get("value")).strip():
        raise _Malformed('a wanted statement lacks its "entity" or its "value"')
    kind, decides = one.get("kind"), one.get("decides")
    if not isinstance(kind, str):
        raise _Malformed('a wanted statement has no "kind"')
    if not isinstance(decides, bool):
        decides = kind != "mention"
    addressees = one.get("addressees")
    return Stated(
        kind="report" if kind == "report" else "decision" if decides else "mention",
        message=message,
        speaker=_word(one.get("speaker")) or "",
        about=_word(one.get("about")) or "",
        addressees=tuple(_text(who) for who in addressees) if isinstance(addressees, list) else (),
        entity=entity,
        value=_text(one["value"]),
        quote=_text(one.get("quote")),
        raw=one,
    )


# ------------------------------------------------------------------------------- being read

type Extract = Callable[[Window, str], Sequence[Statement]]
"""Reads one window of the case of that name; raises CannotRead."""


class Found(NamedTuple):
    """What is stated in a case. `held`: why the gate held other statements; `unread`: why a window
    was not read."""

    stated: list[Stated]
    held: list[str]
    unread: list[str]


def found(
    case: Case, extract: Extract, *, windowed: bool, apps: frozenset[str] = frozenset()
) -> Found:
    """What an extractor states of a case, past the gate that the bot has (extraction/gate.py).

    `windowed`: it wants the talk around a message. `apps`: ids and names of the programs whose
    messages count; nothing is read out of others.
    """
    safe = _safe(case)
    result = Found([], [], [])
    statements: list[Statement] = []
    read = _in_windows if windowed else _one_by_one
    for window, name in read(safe, apps, statements):
        try:
            admitted = admit(window, extract(window, name), None)
        except CannotRead as problem:
            result.unread.append(problem.why)
            continue
        statements += admitted.statements
        result.held.extend(one.reason for one in admitted.held)
    place = {one.id: at for at, one in enumerate(case.passages)}
    direct = {one.id for one in case.passages if one.direct}
    ids = {mine.id: its.id for mine, its in zip(safe.entities, case.entities, strict=True)}
    for one in sorted(statements, key=lambda s: (place[s.message], s.number)):
        result.stated.append(_stated(case, one, ids.get(one.entity), one.message in direct))
    return result


def _safe(case: Case) -> Case:
    """The case with ids of entities as the engine can keep them."""
    taken = {one.id for one in case.entities}
    entities = []
    for one in case.entities:
        id = one.id
        if not _ID.fullmatch(id):
            id, nth = entity_id(id), 2
            while id in taken:
                id, nth = f"{entity_id(one.id)}-{nth}", nth + 1
            taken.add(id)
        entities.append(one.model_copy(update={"id": id}))
    return case._replace(entities=tuple(entities))


def _muted(case: Case, apps: frozenset[str]) -> set[str]:
    """The messages that nobody stated: programs that are not named, lines without an author."""
    return {
        one.id
        for one in case.passages
        if not one.author
        or (one.app and one.author not in apps and case.people.get(one.author) not in apps)
    }


def _one_by_one(
    case: Case, apps: frozenset[str], statements: Sequence[Statement]
) -> Iterator[tuple[Window, str]]:
    """Each message beside what was established before it, as the bot reads (bot/context.py).

    `statements` grows while this goes on. What was said in a direct message is known there alone.
    """
    muted = _muted(case, apps)
    rooms: dict[str, dict[str, Known]] = {"": {one.id: one for one in case.entities}}
    threads: dict[str, str] = {}
    shown: dict[str, tuple[Known, ...]] = {}
    for passage in case.passages:
        if passage.id in muted:
            continue
        room = passage.room if passage.direct else ""
        if room not in shown:
            shown[room] = tuple((rooms[""] | rooms.get(room, {})).values())
        before = len(statements)
        window = Window.model_construct(
            passages=(passage,), people=case.people, entities=shown[room], threads=threads
        )
        yield window, str(case.id)
        if len(statements) == before:
            continue
        new = statements[before:]
        if passage.thread in (None, passage.id) and len({s.entity for s in new}) == 1:
            threads[passage.id] = new[0].entity
        known = rooms.setdefault(room, {})
        for one in new:
            entity = known.get(one.entity) or rooms[""].get(one.entity)
            entity = entity or Known(id=one.entity, name=one.name)
            values = tuple(dict.fromkeys((one.value, *entity.values)))
            known[one.entity] = entity.model_copy(update={"values": values})
        shown.clear()


def _in_windows(
    case: Case, apps: frozenset[str], statements: Sequence[Statement]
) -> Iterator[tuple[Window, str]]:
    """A window for each room, with its name."""
    muted = _muted(case, apps)
    rooms: dict[str, list[Passage]] = {}
    for one in case.passages:
        context = one.model_copy(update={"context": one.id in muted})
        rooms.setdefault(one.room, []).append(context)
    for number, passages in enumerate(rooms.values(), 1):
        if not all(one.context for one in passages):
            window = Window(passages=tuple(passages), people=case.people, entities=case.entities)
            yield window, name_of(case, number)


def name_of(case: Case, room: int) -> str:
    """Under which a model's answers to a room of a case (counted from 1) are looked up: the case's id
    where it is text, for a further room JSON of both, `["case-1",2]`. So is an id that is a number
    (`[1,1]`), or text that could be taken for such JSON: no two rooms have one name."""
    if room == 1 and isinstance(case.id, str) and not case.id.startswith("["):
        return case.id
    return json.dumps([case.id, room], ensure_ascii=False, separators=(",", ":"))


def _stated(case: Case, one: Statement, listed: str | None, direct: bool) -> Stated:
    entity = _NEW + one.name if listed is None else listed

    def given(id: str) -> Json:
        return case.ids.get(id, id)

    kind: Kind = "report" if one.kind == "report" else "decision" if one.decides else "mention"
    return Stated(
        kind, one.message, one.speaker, one.about or "", one.addressees, entity, one.value,
        one.quote,
        {
            "kind": "tell" if direct and one.kind == "say" else one.kind,
            "message": given(one.message),
            "speaker": given(one.speaker),
            "about": None if one.about is None else given(one.about),
            "addressees": [given(who) for who in one.addressees],
            "entity": given(entity),
            "value": one.value,
            "decides": one.decides,
            "quote": one.quote,
        },
    )  # fmt: skip


# ------------------------------------------------------------------------------- predictions


def predictions(
    cases: Iterable[Case], got: Iterable[Sequence[Stated]], unread: Iterable[Unread] = ()
) -> str:
    """One JSON line for each case: `{"id", "got": [statements]}`, ids as the case has them, in the order
    of the file. A line that is no case and has an id gets one as well, with nothing."""
    rows = [
        (case.line, {"id": case.id, "got": [dict(one.raw) for one in stated]})
        for case, stated in zip(cases, got, strict=True)
    ]
    rows += [(one.line, {"id": one.id, "got": []}) for one in unread if one.id is not None]
    return "".join(json.dumps(row) + "\n" for _, row in sorted(rows, key=lambda row: row[0]))
