"""Which few messages repair what people hold; pure. Every plan is simulated before it is proposed.

It refuses to know how a message is sent, and never proposes one that a recipient may not read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, Protocol

from engine.answers import Scene, evidence
from engine.beliefs import Announcement, Handoff, Plan, Post, Recipient, Ref
from engine.rules import Row, belief, decisions, groups, readable

EXACT = 12
"""Up to so many useful rooms every union is tried; beyond, only the best so many by how many wrong
people they reach (then by how few others)."""

UNION = 3
"""At most so many rooms in one plan."""

SHOWN = 5
"""So many plans are returned."""


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
    """One announcement to plan: who is wrong, who knows, and what each person may read of it."""

    scene: Scene
    rows: Sequence[Row]
    truth: Row
    asker: str | None
    wrong: frozenset[str]
    knowing: frozenset[str]
    sources: Mapping[str, frozenset[str]]


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
    made = decisions(rows, scene.at)
    if not made:
        return Announcement(entity=ref, value=None, wrong_before=0, plans=())
    case = _case(scene, rows, made[-1], asker, readers)
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


def handoff_text(answer: Handoff, scene: Scene, reader: May) -> str:
    """The message that hands it over: only what its recipient may read, in plain lines."""
    lines = [f"Handover from {answer.from_person.name} to {answer.to_person.name}"]
    held = {one.entity.id: one.holds for one in answer.wrong}
    for entity in (*(one.entity.id for one in answer.lacks), *held):
        source = _source_for(entity, scene, reader)
        if source is not None:
            old = f" (no longer {held[entity]})" if entity in held else ""
            lines.append(f"• {source.name}: {source.value}{old}")
    for one in answer.promises:
        source = _source_for(one.entity.id, scene, reader)
        own = readable(scene.rows[one.entity.id], reader.person, reader.rooms)
        if source is not None and one.evidence.event in {row.id for row in own}:
            lines.append(
                f"• {one.to.name} was told {source.name}: {one.told}; it is now {source.value}"
            )
    return "\n".join(lines) if len(lines) > 1 else ""


def _source_for(entity: str, scene: Scene, reader: May) -> Row | None:
    """The statement of the current value that a recipient may read, called as it is called there."""
    rows = scene.rows[entity]
    truth = decisions(rows, scene.at)[-1]
    own = readable(rows, reader.person, reader.rooms)
    return _best_source(rows, truth, _sources(truth, own, scene.at), own)


def _best_source(
    rows: Iterable[Row], truth: Row, ids: frozenset[str], own: Iterable[Row]
) -> Row | None:
    """The decision itself, or the newest statement among `ids`, with the first name in `own`."""
    usable = [row for row in rows if row.id in ids]
    if not usable:
        return None
    best = max(usable, key=lambda row: (row.id == truth.id, row.decides, row.moment))
    called = min((row for row in own if row.name), key=lambda row: row.moment, default=best)
    return best._replace(name=called.name or best.entity)


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


def _case(
    scene: Scene, rows: Sequence[Row], truth: Row, asker: str | None, readers: Mapping[str, May]
) -> _Case:
    wrong: set[str] = set()
    knowing: set[str] = set()
    for together in groups(rows):
        held = belief(rows, (together[0],), scene.at)
        if held is not None:
            side = knowing if held.row.same == truth.same else wrong
            side |= set(filter(scene.modelled, together))
    sources = {
        person: _sources(truth, readable(rows, person, reader.rooms), scene.at)
        for person, reader in readers.items()
    }
    return _Case(scene, rows, truth, asker, frozenset(wrong), frozenset(knowing), sources)


def _sources(truth: Row, own: Sequence[Row], at: int) -> frozenset[str]:
    """The statements from which a person may read the current value; none if that person's own
    reading of what is current differs."""
    made = decisions(own, at)
    if not made or made[-1].same != truth.same:
        return frozenset()
    return frozenset(row.id for row in own if row.same == truth.same and row.at <= at)


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
    after = [*case.rows, _as_if_said(case, draft.reached)]
    left = sum(
        held is not None and held.row.same != case.truth.same
        for held in (belief(after, (person,), case.scene.at) for person in case.wrong)
    )
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


def _text(case: _Case, entity: Ref, people: Iterable[str]) -> str:
    """The value and its source, from a statement of it that all of them may read."""
    common = _common(case, people)
    shared = [row for row in case.rows if row.id in common]
    source = _best_source(shared, case.truth, common, shared)
    assert source is not None, entity.id
    shown = evidence(source, case.scene.names)
    who = f" ({shown.speaker.name}, {shown.at:%d %b %Y})" if shown.speaker else ""
    link = f"\n{shown.link}" if shown.link else ""
    return f"{source.name} is now: {source.value}{who}{link}"
