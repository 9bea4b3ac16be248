"""Which few messages repair what people hold; pure. Every plan is simulated before it is proposed.

It refuses to know how a message is sent, and never proposes one that a recipient may not read. Who is
wrong goes by what the asker knows to mean the same; what a recipient is sent goes by what that
recipient knows to, so that no message tells of a merge.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain as joined
from itertools import combinations
from typing import NamedTuple, Protocol

from engine.answers import Scene, evidence
from engine.beliefs import (
    Announcement,
    HandedOver,
    Handoff,
    Handover,
    Plan,
    Post,
    Recipient,
    Ref,
    Wording,
)
from engine.links import Links, linked
from engine.rules import Row, readable
from engine.sheets import Sheet

EXACT = 12
"""Up to so many useful rooms every union is tried; beyond, only the best so many by how many wrong
people they reach (then by how few others)."""

UNION = 3
"""At most so many rooms in one plan."""

SHOWN = 5
"""So many plans are returned."""


type Merged = tuple[tuple[str, str], ...]
"""Keys, each with the key under which somebody is answered about it."""

ANYBODY = ""
"""Stands for every full member: who reads the open rooms and no other."""


class Hall(NamedTuple):
    """A room one may post to, who is in it, and up to how many a post reaches everybody.

    `readers`: whoever may read a post there, now or later; `ANYBODY` in a room that is open.
    """

    id: str
    people: frozenset[str]
    small: int
    readers: frozenset[str]


class May(Protocol):
    """What somebody may read: whose, and the rooms."""

    @property
    def person(self) -> str: ...
    @property
    def rooms(self) -> frozenset[str]: ...


class _Case(NamedTuple):
    """One announcement to plan: who is wrong, who knows, and what each person may read of it.

    `alike`: who is wrong, those together who would learn alike. `sources`: from which statements each
    may read the current value; `merged`: what each knows to mean the same.
    """

    scene: Scene
    rows: Sequence[Row]
    truth: Row
    asker: str | None
    wrong: frozenset[str]
    alike: Sequence[frozenset[str]]
    knowing: frozenset[str]
    sources: Mapping[str, frozenset[str]]
    merged: Mapping[str, Merged]


class _Draft(NamedTuple):
    halls: tuple[Hall, ...]
    direct: tuple[str, ...]
    reached: frozenset[str]


def announcement(
    entity: str,
    scene: Scene,
    halls: Iterable[Hall],
    asker: str | None,
    readers: Mapping[str, May],
) -> Announcement:
    """Plans for an entity, best first: fewest people left wrong, then fewest interrupted who
    already knew, then fewest messages (then fewest people reached, then by name)."""
    rows, ref = scene.rows[entity], scene.names.entity(entity)
    sheet = Sheet(rows, scene.at)
    if not sheet.decisions:
        return Announcement(entity=ref, value=None, wrong_before=0, plans=())
    case = _case(scene, sheet, asker, readers)
    drafts = (draft for draft in _drafts(case, halls) if draft.halls or draft.direct)
    plans = _worthwhile(sorted((_plan(case, ref, draft) for draft in drafts), key=_worth))
    by_hand = sorted(p for p in case.wrong if not case.sources.get(p) and p != asker)
    return Announcement(
        entity=ref,
        value=case.truth.value,
        wrong_before=len(case.wrong),
        plans=tuple(plans[:SHOWN]) if case.wrong else (),
        by_hand=tuple(scene.names.person(p) for p in by_hand),
    )


def wording(
    entity: str, scene: Scene, people: Collection[str], readers: Mapping[str, May]
) -> Wording | None:
    """What may be said of the current value to these people: from a statement of it that all of
    them may read. None where there is none, or nothing is decided."""
    sheet = Sheet(scene.rows[entity], scene.at)
    if not sheet.decisions:
        return None
    case = _case(scene, sheet, None, readers)
    source = _said_to(case, people)
    if source is None:
        return None
    return Wording(
        entity=Ref(id=source.entity, name=source.name or source.entity),
        value=source.value,
        source=evidence(source, scene.names),
        decided=case.truth.id,
    )


def handover(answer: Handoff, scene: Scene, reader: May) -> Handover:
    """What of a handoff its recipient may read: as a message in plain lines, and one by one."""
    refs = [*(one.entity for one in answer.lacks), *(one.entity for one in answer.wrong)]
    own = {
        entity: readable(scene.rows[entity], reader.person, reader.rooms)
        for entity in (*(ref.id for ref in refs), *(one.entity.id for one in answer.promises))
    }
    links = _known(scene, reader, joined.from_iterable(own.values()))

    @cache
    def found(entity: str, about: str | None = None) -> Row | None:
        """The statement of the current value; `about`: of what is the same as this key to them."""
        truth = Sheet(scene.rows[entity], scene.at).decisions[-1]
        ids = _sources(truth, own[entity], links, scene.at)
        usable = own[entity] if about is None else _alike(own[entity], about, links)
        return _best_source(usable, truth, ids, own[entity], [links])

    lines, things, promised, by_hand = list[str](), list[HandedOver](), list[str](), list[Ref]()
    for ref in refs:
        source = found(ref.id)
        if source is None:
            by_hand.append(ref)
            continue
        rows = _alike(scene.rows[ref.id], source.key, links)
        held = Sheet(rows, scene.at).held((reader.person,))
        if held is not None and held.row.same == source.same:
            continue  # as far as they can tell, they hold it
        old = f" (no longer {held.row.value})" if held is not None else ""
        lines.append(f"• {source.name}: {source.value}{old}")
        named = Ref(id=source.entity, name=source.name or source.entity)
        things.append(HandedOver(entity=named, value=source.value, event=source.id))
    for one in answer.promises:
        told = [row for row in own[one.entity.id] if row.id == one.evidence.event]
        source = found(one.entity.id, told[0].key) if told else None
        if source is not None:
            lines.append(
                f"• {one.to.name} was told {source.name}: {one.told}; it is now {source.value}"
            )
            promised.append(one.evidence.event)
        else:
            by_hand.append(one.entity)
    title = f"Handover from {answer.from_person.name} to {answer.to_person.name}"
    return Handover(
        text="\n".join([title, *lines]) if lines else "",
        things=tuple(things),
        promises=tuple(promised),
        by_hand=tuple({ref.id: ref for ref in by_hand}.values()),
    )


def _known(scene: Scene, reader: May, own: Iterable[Row]) -> Links:
    """What a recipient knows to mean the same, of what the asker does: what was confirmed where the
    recipient may read, about what the recipient may read something of."""
    keys = {row.key for row in own} if scene.merges else set[str]()
    merges = (link for link, room in scene.merges if room is None or room in reader.rooms)
    return linked(merges, keys) if len(keys) > 1 else Links({}, {})


def _alike(rows: Iterable[Row], key: str, links: Links) -> list[Row]:
    """The rows about what is the same as a key, to who knows these links."""
    return [row for row in rows if links.key(row.key) == links.key(key)]


def _best_source(
    rows: Iterable[Row],
    truth: Row,
    ids: frozenset[str],
    own: Iterable[Row],
    everyones: Collection[Links],
) -> Row | None:
    """The decision itself, or the newest statement among `ids`, under the key and the first name in
    `own` that mean it to everyone; `everyones`: what they know to mean the same."""
    usable = [row for row in rows if row.id in ids]
    if not usable:
        return None
    best = max(usable, key=lambda row: (row.id == truth.id, row.decides, row.moment))
    keys = frozenset.intersection(*(frozenset(links.keys(best.key)) for links in everyones))
    named = (row for row in own if row.name and row.key in keys)
    called = min(named, key=lambda row: row.moment, default=best)
    answered = {links.key(best.key) for links in everyones}
    key = answered.pop() if len(answered) == 1 else best.key
    return best._replace(entity=key, name=called.name or key)


def _worthwhile(plans: Sequence[Plan]) -> list[Plan]:
    """Without those that only add messages to a plan that leaves as few people wrong."""
    kept: list[tuple[frozenset[str], Plan]] = []
    for plan in plans:
        messages = frozenset(_whom(plan))
        if not any(less < messages and p.wrong_after <= plan.wrong_after for less, p in kept):
            kept.append((messages, plan))
    return [plan for _, plan in kept]


def _whom(plan: Plan) -> list[str]:
    return [(m.to.room or m.to.person or Ref(id="", name="")).id for m in plan.messages]


def _worth(plan: Plan) -> tuple[int, int, int, int, str]:
    order = " ".join(_whom(plan))
    return (plan.wrong_after, plan.interrupted, len(plan.messages), plan.reached, order)


def _case(scene: Scene, sheet: Sheet, asker: str | None, readers: Mapping[str, May]) -> _Case:
    rows, truth = sheet.rows, sheet.decisions[-1]
    wrong: list[frozenset[str]] = []
    knowing: list[frozenset[str]] = []
    for together, held in zip(sheet.groups, sheet.holding, strict=True):
        if held is not None:
            side = knowing if held.row.same == truth.same else wrong
            side.append(frozenset(filter(scene.modelled, together)))
    sources: dict[str, frozenset[str]] = {}
    merged: dict[str, Merged] = {}
    found: dict[tuple[tuple[str, ...], Merged], frozenset[str]] = {}
    keys = {row.key for row in rows}
    scene = scene._replace(merges=[one for one in scene.merges if set(one[0][1:]) <= keys])
    for person, reader in readers.items():
        own = readable(rows, person, reader.rooms)
        links = _known(scene, reader, own)
        merged[person] = tuple(links.merged.items())
        may = tuple(row.id for row in own), merged[person]
        if may not in found:  # most people may read the same
            found[may] = _sources(truth, own, links, scene.at)
        sources[person] = found[may]
    everyone = frozenset[str]().union(*wrong), frozenset[str]().union(*knowing)
    return _Case(scene, rows, truth, asker, everyone[0], wrong, everyone[1], sources, merged)


def _sources(truth: Row, own: Iterable[Row], links: Links, at: int) -> frozenset[str]:
    """The statements from which a person may read the current value: of each thing that is one to
    that person, none if their own reading of what is current differs."""
    things: dict[str, list[Row]] = defaultdict(list)
    for row in own:
        things[links.key(row.key)].append(row)
    found = set[str]()
    for rows in things.values():
        made = Sheet(rows, at).decisions
        if made and made[-1].same == truth.same:
            found |= {row.id for row in rows if row.same == truth.same and row.at <= at}
    return frozenset(found)


def _drafts(case: _Case, halls: Iterable[Hall]) -> Iterator[_Draft]:
    useful = sorted(
        (hall for hall in halls if _common(case, hall.readers) and _reach(case, hall) & case.wrong),
        key=lambda h: (-len(_reach(case, h) & case.wrong), len(_reach(case, h)), h.id),
    )[:EXACT]
    for size in range(UNION + 1):
        for some in combinations(useful, size):
            reached = frozenset().union(*(_reach(case, hall) for hall in some))
            rest = case.wrong - reached - {case.asker}
            direct = tuple(sorted(p for p in rest if case.sources.get(p)))
            yield _Draft(some, direct, reached | set(direct))


def _reach(case: _Case, hall: Hall) -> frozenset[str]:
    """Whom a post reaches: everybody in a small room, the people it mentions in a larger one."""
    return hall.people if len(hall.people) <= hall.small else hall.people & case.wrong


def _common(case: _Case, people: Iterable[str]) -> frozenset[str]:
    """The sources that every one of these people may read."""
    each = [case.sources.get(person, frozenset()) for person in people]
    return frozenset[str].intersection(*each) if each else frozenset()


def _plan(case: _Case, entity: Ref, draft: _Draft) -> Plan:
    said = _as_if_said(case, draft.reached)
    after = Sheet([*case.rows, said], case.scene.at)
    left = 0
    for alike in case.alike:
        told = alike & said.members
        left += len(alike) - len(told)
        # One for all of them: they had witnessed the same before, and so they have now.
        held = after.held((min(told),)) if told else None
        left += len(told) if held is not None and held.row.same != case.truth.same else 0
    posts = [_post(case, entity, hall) for hall in draft.halls]
    posts += [
        Post(
            to=Recipient(person=case.scene.names.person(person)),
            text=_text(case, entity, (person,)),
        )
        for person in draft.direct
    ]
    return Plan(
        messages=tuple(posts),
        wrong_after=left,
        interrupted=len((draft.reached & case.knowing) - {case.asker}),
        reached=len(draft.reached - {case.asker}),
    )


def _as_if_said(case: _Case, reached: frozenset[str]) -> Row:
    """The hypothetical row of a simulation: as if the value had been said to these people now."""
    last = max(case.rows, key=lambda row: row.moment)
    heard = reached | ({case.asker} if case.asker else set())
    return case.truth._replace(
        at=min(last.at + 1, case.scene.at), id="~", kind="say", by=None, decides=True,
        members=frozenset(heard), sights=(),
    )  # fmt: skip


def _post(case: _Case, entity: Ref, hall: Hall) -> Post:
    named = () if len(hall.people) <= hall.small else sorted(_reach(case, hall) - {case.asker})
    return Post(
        to=Recipient(room=case.scene.names.room(hall.id)),
        text=_text(case, entity, hall.readers),
        mentions=tuple(case.scene.names.person(person) for person in named),
    )


def _text(case: _Case, entity: Ref, people: Collection[str]) -> str:
    """The value and its source, from a statement of it that all of them may read."""
    source = _said_to(case, people)
    assert source is not None, entity.id
    shown = evidence(source, case.scene.names)
    who = f" ({shown.speaker.name}, {shown.at:%d %b %Y})" if shown.speaker else ""
    link = f"\n{shown.link}" if shown.link else ""
    return f"{source.name} is now: {source.value}{who}{link}"


def _said_to(case: _Case, people: Collection[str]) -> Row | None:
    """The statement of the current value that all of these may read, called as they read it."""
    common = _common(case, people)
    if not common:
        return None
    shared = [row for row in case.rows if row.id in common]
    everyones = [Links(dict(merged), {}) for merged in {case.merged[p] for p in people}]
    return _best_source(shared, case.truth, common, shared, everyones)
