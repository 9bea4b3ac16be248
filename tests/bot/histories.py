"""Random Slack workspaces as exports from any span of their time; it knows no rule of perception."""

import random
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tests.bot.exports_builders import BORN, channel, ts, user

SMALL = tuple(f"U{i}" for i in range(1, 7))
EVERYBODY = tuple(f"U{i}" for i in range(1, 31))
VALUES = ("approved", "rejected", "paused", "cancelled")


class Place(NamedTuple):
    folder: str
    id: str
    people: tuple[str, ...]


PLANS = Place("plans", "C1", SMALL)
EVERYONE = Place("everyone", "C2", EVERYBODY)  # too large for presence to count
SECRET = Place("secret", "G1", SMALL[:4])
PAIR = Place("D1", "D1", ("U1", "U2"))
THREE = Place("mpdm-u1--u2--u3-1", "G2", ("U1", "U2", "U3"))
PLACES = (PLANS, EVERYONE, SECRET, PAIR, THREE)
INDEXES: dict[str, object] = {
    "users.json": [user(id) for id in EVERYBODY],
    "channels.json": [channel(p.id, p.folder, p.people) for p in (PLANS, EVERYONE)],
    "groups.json": [channel(SECRET.id, SECRET.folder, SECRET.people)],
    "mpims.json": [channel(THREE.id, THREE.folder, THREE.people)],
    "dms.json": [{"id": PAIR.id, "created": BORN, "members": list(PAIR.people)}],
}


class Spoken(NamedTuple):
    """A line and what became of it: an edit, a tombstone, each from a second on."""

    second: int
    folder: str
    line: dict[str, Any]
    edit: tuple[int, str] | None = None
    gone: int | None = None


type History = list[Spoken]


def history(seed: int, length: int, edits: bool = True) -> History:
    """People come late, talk in rooms, threads and in private, react, edit and remove."""
    pick = random.Random(seed)
    said = [_joins(pick, place, person) for place in (PLANS, EVERYONE) for person in place.people]
    said = [one for one in said if pick.random() < 0.3]
    second, roots = 1000, defaultdict[str, list[tuple[str, str]]](list)
    for _ in range(length):
        second += pick.choice([5, 40, 300, 900, 4000])
        place = pick.choice(PLACES)
        by = pick.choice(place.people)
        line: dict[str, Any] = {
            "type": "message", "user": by, "text": _words(pick, place), "ts": ts(second)
        }  # fmt: skip
        if roots[place.id] and pick.random() < 0.4:
            line["thread_ts"], root = pick.choice(roots[place.id][-4:])
            if pick.random() < 0.2:
                line |= {"subtype": "thread_broadcast", "root": {"user": root}}
        else:
            roots[place.id].append((ts(second), by))
        if pick.random() < 0.2:
            users = pick.sample(place.people, 2)
            line["reactions"] = [{"name": "eyes", "users": users, "count": 2}]
        one = Spoken(second, place.folder, line)
        if edits and pick.random() < 0.2:
            after = pick.choice([100, 1000, 6000])
            one = one._replace(edit=(second + after, _words(pick, place)))
        if pick.random() < 0.05:
            one = one._replace(gone=second + 500)
        said.append(one)
    return sorted(said, key=lambda one: one.second)


def _joins(pick: random.Random, place: Place, person: str) -> Spoken:
    second = pick.randint(1, 20_000)
    line = {
        "type": "message", "subtype": "channel_join", "user": person,
        "text": f"<@{person}> has joined the channel", "ts": ts(second, 200 + int(person[1:])),
    }  # fmt: skip
    return Spoken(second, place.folder, line)


def _words(pick: random.Random, place: Place) -> str:
    """Nothing that can only be understood with what was said elsewhere."""
    key, value = f"decision-{pick.randint(1, 4)}", pick.choice(VALUES)
    other = pick.choice(place.people)
    return pick.choice(
        [
            f"{key}: {value}",
            f"{key}: {value}, {pick.choice(('OPS', 'Ops', 'ops'))}-7: {pick.choice(VALUES)}",
            f"<@{other}> {key}: {value}",
            f"I think {key} is {value}",
            f"told <@{other}> that {key} is {value}",
            f"<@{other}> could you have a look?",
            "decision: no freeze this year",
            "see you tomorrow",
        ]
    )


def export(said: History, since: int = 0, until: int = 10**9) -> dict[str, object]:
    """The files of an export of what was said from one second to another, made at the latter."""
    days: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in said:
        if since <= one.second <= until:
            line = _as_of(one, until)
            day = datetime.fromtimestamp(BORN + one.second, UTC)
            days[f"{one.folder}/{day:%Y-%m-%d}.json"].append(line)
    return {**INDEXES, **days}


def _as_of(one: Spoken, until: int) -> dict[str, Any]:
    line = dict(one.line)
    if one.edit is not None and one.edit[0] <= until:
        line |= {"text": one.edit[1], "edited": {"user": line["user"], "ts": ts(one.edit[0], 900)}}
    if one.gone is not None and one.gone <= until:
        kept = {key: line[key] for key in ("type", "ts", "thread_ts") if key in line}
        line = kept | {"subtype": "tombstone", "user": "USLACKBOT", "text": "This was deleted."}
    return line


def busy(messages: int) -> dict[str, object]:
    """The files of a chat of 80 people, of whom one room of twelve holds all; a tenth decides."""
    pick = random.Random(1)
    everybody = tuple(f"U{i}" for i in range(80))
    places = [
        Place(f"room{i}", f"C{i}", tuple(pick.sample(everybody, 12)) if i else everybody)
        for i in range(12)
    ]
    talk = [
        "lunch",
        "deploy",
        "friday",
        "review",
        "please",
        "thanks",
        "looks",
        "good",
        "to",
        "me",
        "meeting",
        "notes",
    ]
    second, days = 5000, defaultdict[str, list[dict[str, object]]](list)
    for _ in range(messages):
        second += pick.randint(5, 600)
        place, key = pick.choice(places), f"decision-{pick.randint(1, 60)}"
        text = " ".join(pick.choices(talk, k=pick.randint(2, 14)))
        if pick.random() < 0.1:
            text = f"{key}: {pick.choice(VALUES)}"
        elif pick.random() < 0.02:
            text = f"told <@{pick.choice(place.people)}> that {key} is approved"
        line: dict[str, object] = {
            "type": "message", "user": pick.choice(place.people), "text": text, "ts": ts(second)
        }  # fmt: skip
        if pick.random() < 0.1:
            line["reactions"] = [{"name": "+1", "users": pick.sample(place.people, 2), "count": 2}]
        day = datetime.fromtimestamp(BORN + second, UTC)
        days[f"{place.folder}/{day:%Y-%m-%d}.json"].append(line)
    return {
        "users.json": [user(id) for id in everybody],
        "channels.json": [channel(p.id, p.folder, p.people) for p in places],
        **days,
    }
