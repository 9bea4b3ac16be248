// Every Cypher statement of the engine. A line `// -- name --` opens one; the comment under it says
// what it is for. Lists of people are written `|U1|U2|`, one person `|U1|`; moments are integers,
// microseconds since 1970. Statements about an entity look the same in the world and in a mind,
// so the same text reads both.

// -- schema --
// Which version of this schema the world was made with, and its policy; no row in a new one.
MATCH (s:Schema) RETURN s.version, s.policy

// -- make_schema --
// Marks a new world.
MERGE (s:Schema) SET s.version = $version, s.policy = $policy

// -- index_event_id --
// An event is found by its source's own identity.
CREATE INDEX FOR (e:Event) ON (e.id)

// -- index_event_entity --
// What was said about an entity.
CREATE INDEX FOR (e:Event) ON (e.entity)

// -- index_event_room --
// What was said in a room.
CREATE INDEX FOR (e:Event) ON (e.room)

// -- index_event_target --
// What was later said about an event: notices, retractions, edits.
CREATE INDEX FOR (e:Event) ON (e.target)

// -- index_person --
// A person by id.
CREATE INDEX FOR (p:Person) ON (p.id)

// -- index_room --
// A room by id.
CREATE INDEX FOR (r:Room) ON (r.id)

// -- index_entity --
// An entity by its key.
CREATE INDEX FOR (n:Entity) ON (n.id)

// -- index_move_room --
// The membership lines of a room.
CREATE INDEX FOR (m:Move) ON (m.room)

// -- index_move_stay --
// The membership lines of one person in one room.
CREATE INDEX FOR (m:Move) ON (m.stay)

// -- index_move_person --
// The membership lines of a person.
CREATE INDEX FOR (m:Move) ON (m.person)

// -- index_move_id --
// A membership line by its source's own identity.
CREATE INDEX FOR (m:Move) ON (m.id)

// -- index_audience --
// A large audience by its content.
CREATE INDEX FOR (a:Audience) ON (a.id)

// -- mind_index --
// What was said when, and about what: for a mind that has become large. A small one has no index,
// which would take more room than the mind.
CREATE INDEX FOR (e:Event) ON (e.at, e.entity)

// -- indexed --
// How many labels of a graph have an index.
CALL db.indexes() YIELD label RETURN count(label)

// -- unfinished --
// How many labels of a graph have an index that is still being built.
CALL db.indexes() YIELD label, status WHERE status <> 'OPERATIONAL' RETURN count(label)

// -- before_statement --
// What must be known before a statement is written: whether it is known, who is in its room and
// as of which line, whether anything that arrived earlier refers to it or is edited by it, and
// whether only some people may decide about its entity.
OPTIONAL MATCH (known:Event {id: $id})
OPTIONAL MATCH (r:Room {id: $room})
OPTIONAL MATCH (later:Event {target: $id})
OPTIONAL MATCH (a:Authority {entity: $entity})
RETURN known IS NOT NULL, r.here, r.newest_at, r.newest_id, later IS NOT NULL, a IS NOT NULL
LIMIT 1

// -- before_move --
// What must be known before somebody comes or goes: whether the line is known, and the room as it
// stands.
OPTIONAL MATCH (known:Move {id: $id})
WITH count(known) AS known
OPTIONAL MATCH (r:Room {id: $room})
RETURN known, r.here, r.newest_at, r.newest_id

// -- before_mark --
// Whether a notice or a retraction is known already.
OPTIONAL MATCH (known:Event {id: $id})
RETURN count(known)

// -- moves_of --
// One person's membership lines in one room.
MATCH (m:Move {stay: $stay}) RETURN m.at, m.id, m.person, m.entered, m.presumed

// -- moves --
// All membership lines of some rooms.
UNWIND $rooms AS room
MATCH (m:Move {room: room}) RETURN m.room, m.at, m.id, m.person, m.entered, m.presumed

// -- moves_of_some --
// The membership lines of some people in some rooms.
UNWIND $stays AS stay
MATCH (m:Move {stay: stay}) RETURN m.room, m.at, m.id, m.person, m.entered, m.presumed

// -- visitors --
// Who is in some rooms now, and who ever left one of them: together, everybody who was ever there.
UNWIND $rooms AS room
MATCH (r:Room {id: room})
OPTIONAL MATCH (m:Move {room: room}) WHERE NOT m.entered
RETURN room, r.here, collect(DISTINCT m.person)

// -- spoken_since --
// Statements of a room that stood at a moment or were made later: whose witnesses, and whose fate
// when their source went, may follow from who was there from then on.
MATCH (e:Event {room: $room}) WHERE (e.at >= $since OR e.gone >= $since) AND e.entity IS NOT NULL
RETURN e.id

// -- sources --
// The statements with these ids, as they were recorded and as they were last understood.
UNWIND $ids AS id
MATCH (e:Event {id: id}) WHERE e.entity IS NOT NULL
RETURN e.id, e.source, e.value, e.name, e.members, e.audience, e.sight_people, e.sight_since,
       e.sight_until, e.sight_grades, e.there, e.decides, e.trusted, e.void, e.retracted, e.alone,
       e.gone, e.unlinked

// -- authorities --
// Who decides an entity, from which moment on.
MATCH (a:Authority {entity: $entity}) RETURN a.at, a.id, a.people

// -- authorise --
// Names those who decide an entity from a moment on.
CREATE (a:Authority) SET a = $row

// -- stated_since --
// Statements about an entity from a moment on.
MATCH (e:Event {entity: $entity}) WHERE e.at >= $since RETURN e.id

// -- heard_since --
// What was said or told from a moment on, in any room.
MATCH (e:Event) WHERE e.at >= $since AND e.kind IN ['say', 'tell'] RETURN e.id

// -- moves_by --
// All membership lines of some people, in any room.
UNWIND $people AS person
MATCH (m:Move {person: person}) RETURN m.room, m.at, m.id, m.person, m.entered, m.presumed

// -- marks --
// What was later said about these events: notices, unsees, retractions, and edits and replacements.
UNWIND $ids AS id
MATCH (e:Event {target: id}) RETURN id, e.id, e.kind, e.source

// -- audiences --
// The people of large audiences.
UNWIND $ids AS id
MATCH (a:Audience {id: id}) RETURN a.id, a.members

// -- say_event --
// Writes a statement that somebody made in a room into the world.
MERGE (n:Entity {id: $row.entity})
MERGE (r:Room {id: $row.room})
MERGE (p:Person {id: $row.by})
CREATE (p)-[:SAID]->(e:Event)-[:ABOUT]->(n), (e)-[:IN]->(r)
SET e = $row

// -- state_event --
// Writes any other statement into the world, with who made it, if anybody did, and about what.
MERGE (n:Entity {id: $row.entity})
CREATE (e:Event) SET e = $row
CREATE (e)-[:ABOUT]->(n)
WITH e
UNWIND $said AS said MERGE (p:Person {id: said}) CREATE (p)-[:SAID]->(e)

// -- place_event --
// The room in which something changed that nobody is known to have done.
MATCH (e:Event {id: $id}) MERGE (r:Room {id: $room}) CREATE (e)-[:IN]->(r)

// -- told --
// Who told whom, for paths.
MERGE (a:Person {id: $by})
WITH a
UNWIND $listeners AS listener
MERGE (b:Person {id: listener})
CREATE (a)-[:TOLD {event: $id, at: $at, room: $room, private: $private}]->(b)

// -- meet --
// People who were named as witnesses.
UNWIND $people AS id MERGE (:Person {id: id})

// -- mark_event --
// Writes a notice, an unsee or a retraction.
CREATE (e:Event) SET e = $row

// -- unmark_events --
// Takes out notices, unsees and retractions that are not concluded any more.
UNWIND $ids AS id
MATCH (e:Event {id: id}) WHERE e.kind IN ['notice', 'unsee', 'retract'] DELETE e

// -- understand_event --
// Who is now understood to have witnessed a statement, and what became of it.
MATCH (e:Event {id: $id}) SET e += $row

// -- move --
// Writes a membership line, and the room as it stands after it.
MERGE (p:Person {id: $row.person})
MERGE (r:Room {id: $row.room})
SET r += $after
CREATE (m:Move) SET m = $row

// -- keep_audience --
// A large audience, once per content.
MERGE (a:Audience {id: $id}) ON CREATE SET a.members = $members

// -- witness --
// Into one mind: a statement as this person saw it, where nothing is special about it.
CREATE (:Event {id: $id, at: $at, kind: $kind, by: $by, room: $room, entity: $entity, value: $value,
                same: $same, name: $name, decides: $decides, void: $void, retracted: $retracted,
                plain: $plain, special: $special, there: $there, members: $members})

// -- witness_rarely --
// Into one mind: any other statement as this person saw it.
CREATE (e:Event) SET e = $row

// -- witness_among --
// Like `witness`, with the large audience that it had.
MERGE (a:Audience {id: $audience}) ON CREATE SET a.members = $crowd
CREATE (:Event {id: $id, at: $at, kind: $kind, by: $by, room: $room, entity: $entity, value: $value,
                same: $same, name: $name, decides: $decides, void: $void, retracted: $retracted,
                plain: $plain, special: $special, there: $there, members: $members,
                audience: $audience})

// -- witness_rarely_among --
// Like `witness_rarely`, with the large audience that it had.
MERGE (a:Audience {id: $id}) ON CREATE SET a.members = $members
CREATE (e:Event) SET e = $row

// -- unwitness --
// Out of one mind: this person turned out not to have seen it, or to have seen it otherwise.
MATCH (e:Event {id: $id}) DELETE e

// -- describe_person --
// What people read for a person, and what the platform says of them; the latest description holds.
MERGE (p:Person {id: $id})
WITH p WHERE coalesce(p.described_at, $at) <= $at
SET p += $row, p.described_at = $at

// -- describe_room --
// What people read for a room, and whether it is open to every full member; the latest
// description holds.
MERGE (r:Room {id: $id})
WITH r WHERE coalesce(r.described_at, $at) <= $at
SET r += $row, r.described_at = $at

// -- met --
// Who was ever in some rooms, or said something that the reader may read.
MATCH (m:Move) WHERE m.room IN $rooms
RETURN DISTINCT m.person AS person
UNION
MATCH (e:Event) WHERE e.by IS NOT NULL AND NOT e.void
  AND ($all OR e.room IN $rooms OR e.parties CONTAINS $reader)
RETURN DISTINCT e.by AS person

// -- set_here --
// Who is in a room now.
MATCH (r:Room {id: $id}) SET r.here = $here

// -- newest_naming --
// The rooms whose newest line has an id that may be made with somebody's.
MATCH (r:Room) WHERE r.newest_id CONTAINS $person RETURN r.id, r.newest_id

// -- rooms_called --
// The rooms whose name may hold one of these words.
MATCH (r:Room) WHERE any(word IN $words WHERE r.name CONTAINS word) RETURN r.id, r.name

// -- rename_room --
// Calls a room otherwise.
MATCH (r:Room {id: $id}) SET r.name = $name

// -- moves_named --
// The membership lines of others whose id may be made with somebody's.
MATCH (m:Move) WHERE m.id CONTAINS $person AND m.person <> $person RETURN m.id

// -- rename_move --
// A membership line under another id.
MATCH (m:Move {id: $id}) SET m.id = $new

// -- rename_told --
// Who told whom, by a statement that has another id now.
MATCH ()-[t:TOLD {event: $id}]->() SET t.event = $new

// -- links_named --
// The confirmed names that may hold one of these words, in lower case.
MATCH (l:Link) WHERE any(word IN $words WHERE l.name CONTAINS word)
RETURN l.kind, l.name, l.entity, l.scope

// -- delete_link --
// A name that was confirmed goes.
MATCH (l:Link {kind: $kind, name: $name, entity: $entity, scope: $scope}) DELETE l

// -- forget_newest --
// A room no longer knows the id of its newest line; whatever is of that moment counts as late.
MATCH (r:Room {id: $id}) SET r.newest_id = '~'

// -- list_members --
// Who a member list named, as of a moment.
MERGE (l:Listing {room: $room, at: $at}) SET l.members = $members

// -- listings --
// The member lists, oldest first.
MATCH (l:Listing) RETURN l.room, l.at, l.members
ORDER BY l.room, l.at

// -- people --
// Everybody, and who wants to be left out.
MATCH (p:Person) RETURN p.id, p.name, p.handle, p.zone, p.guest, p.gone, p.bot, p.private

// -- opt --
// Whether a person wants to be left out of every answer.
MATCH (p:Person {id: $id}) SET p.private = $private

// -- link --
// Somebody confirms that a name or a key means an entity; confirming it again changes nothing.
MERGE (l:Link {kind: $row.kind, name: $row.name, entity: $row.entity, scope: $row.scope})
SET l.at = CASE WHEN l.undone = false THEN l.at ELSE $row.at END
SET l.room = $row.room, l.undone = false

// -- unlink --
// Somebody takes it back, in one room or wherever it was confirmed.
MATCH (l:Link {kind: $kind, name: $name, entity: $entity})
WHERE $all OR l.scope = $scope SET l.undone = true

// -- links --
// What was confirmed where the reader may read, in the order in which it was.
MATCH (l:Link) WHERE NOT l.undone AND ($all OR l.room IS NULL OR l.room IN $rooms)
RETURN l.kind, l.name, l.entity, l.room, l.at
ORDER BY l.at, l.name, l.entity

// -- rooms --
// Every room, who is in it now, and whether it is open to every full member.
MATCH (r:Room) RETURN r.id, r.name, r.open, r.here, r.kind, r.archived

// -- room_names --
// What people read for every room.
MATCH (r:Room) RETURN r.id, r.name

// -- entities --
// The entities that were spoken of where the reader may read, and how they were first called there.
MATCH (e:Event) WHERE e.entity IS NOT NULL AND NOT e.void
  AND ($all OR e.room IN $rooms OR e.parties CONTAINS $reader
       OR (e.room IS NULL AND e.by = $person))
WITH e ORDER BY e.at, e.id
RETURN e.entity, head(collect(e.name))

// -- believes_newest --
// What a chain of up to three people believes about an entity at a moment, where that is simply the
// newest statement that all of them were there for: nothing special is newer. If the row that comes
// back is special, or none does, `believes` has to be asked. In a graph of at least `many` nodes it
// looks no further back than to the oldest statement about the entity among the `recent` nodes that
// were written last, if there is one: where something is found, all that is newer was looked at too,
// in whatever order it was recorded. A number below all moments stands for "from the beginning".
CALL db.meta.stats() YIELD nodeCount
MATCH (r) WHERE ID(r) >= CASE WHEN nodeCount < $many THEN nodeCount ELSE nodeCount - $recent END
WITH coalesce(min(CASE WHEN r.entity = $entity AND r.at <= $at THEN r.at END),
              -1000000000000000000) AS since
MATCH (e:Event) WHERE e.entity = $entity AND e.at >= since AND e.at <= $at
  AND (e.special OR e.members CONTAINS $c0 AND e.members CONTAINS $c1 AND e.members CONTAINS $c2)
WITH max([e.at, e.id, e]) AS newest
WITH newest[2] AS e
RETURN e.id, e.at, e.at AS since, e.value, e.kind, e.by, e.room, e.quote, e.link, e.about, e.retracted,
       e.members, e.sight_people, e.sight_since, e.sight_until, e.sight_grades, e.name, e.special

// -- believes --
// What a chain believes about an entity at a moment, in the world or in the mind of its first
// person. Large audiences are tested first, then the rows: a row is accepted
// when everyone in the chain witnessed it by then; a report also when everyone before `last` did,
// it is about `last`, and `last` was not there. Of the accepted rows the newest that displaces and
// the newest said by `last` are compared; a mention from before the chain came to know of the
// decision does not count against it. Nothing older than the newest plain row that displaces can be
// the answer, so that is looked for first, cheaply, and not far back (see `believes_newest`); if it is
// not there, everything is looked at. Where trust plays a part (policy exit_order), what was
// said or told is accepted by a hearer who trusts the speaker, by that hearer about the speaker, and
// by the speaker about every hearer. A number below all moments stands for "never"; not the
// lowest one, since FalkorDB compares integers by subtracting them, and that overflows.
CALL db.meta.stats() YIELD nodeCount
MATCH (r) WHERE ID(r) >= CASE WHEN nodeCount < $many THEN nodeCount ELSE nodeCount - $recent END
WITH coalesce(min(CASE WHEN r.entity IN $entities AND r.at <= $at THEN r.at END),
              -1000000000000000000) AS recently
OPTIONAL MATCH (a:Audience) WHERE all(x IN $chain WHERE a.members CONTAINS x)
WITH recently, collect(a.id) AS complete
OPTIONAL MATCH (a:Audience) WHERE all(x IN $before_last WHERE a.members CONTAINS x)
WITH recently, complete, collect(a.id) AS but_last
OPTIONAL MATCH (e:Event) WHERE e.entity IN $entities AND e.at >= recently AND e.at <= $at
  AND e.plain AND NOT e.void AND (e.decides OR e.kind = 'tell')
  AND (e.members CONTAINS $c0 AND e.members CONTAINS $c1 AND e.members CONTAINS $c2
       AND e.members CONTAINS $c3 AND all(x IN $more WHERE e.members CONTAINS x)
       OR e.audience IN complete)
  AND ($all OR e.room IN $rooms OR e.parties CONTAINS $reader
       OR (e.room IS NULL AND e.by = $person))
WITH complete, but_last, coalesce(max(e.at), -1000000000000000000) AS floor
MATCH (e:Event) WHERE e.entity IN $entities AND e.at >= floor AND e.at <= $at AND NOT e.void
  AND ($all OR e.room IN $rooms OR e.parties CONTAINS $reader
       OR (e.room IS NULL AND e.by = $person))
WITH e, complete, but_last,
     CASE WHEN e.plain THEN e.members CONTAINS $c0 AND e.members CONTAINS $c1
                        AND e.members CONTAINS $c2 AND e.members CONTAINS $c3
                        AND all(x IN $more WHERE e.members CONTAINS x)
                     OR e.audience IN complete
          ELSE true END AS possible,
     NOT e.plain AND coalesce(e.about = $last AND NOT e.there AND size($chain) > 1, false)
       AS reported
WHERE possible
WITH e, reported,
     CASE WHEN e.plain THEN []
          WHEN e.trusted IS NULL THEN CASE WHEN reported THEN $before_last ELSE $chain END
          WHEN size($chain) = 1 AND e.by <> $last AND e.trusted CONTAINS $c0 THEN $chain
          WHEN size($chain) = 2 AND e.by = $last AND e.trusted CONTAINS $c0 THEN [$c0]
          WHEN size($chain) = 2 AND e.by = $first THEN [$c1] END AS needed,
     CASE WHEN e.plain THEN true
          ELSE e.audience IN (CASE WHEN reported THEN but_last ELSE complete END) END AS whole
WHERE needed IS NOT NULL
WITH e, reported,
     CASE WHEN e.plain THEN e.at ELSE
       reduce(s = e.at, x IN needed |
         CASE WHEN s IS NULL OR whole OR e.members CONTAINS x THEN s ELSE
           reduce(m = NULL, i IN range(0, size(coalesce(e.sight_people, [])) - 1) |
             CASE WHEN e.sight_people[i] = x AND e.sight_since[i] <= $at AND e.sight_until[i] > $at
                       AND (m IS NULL OR e.sight_since[i] < m)
                  THEN CASE WHEN e.sight_since[i] > s THEN e.sight_since[i] ELSE s END
                  ELSE m END) END) END AS since
WHERE since IS NOT NULL
WITH e, since, reported OR e.decides OR e.kind = 'tell' OR e.trusted IS NOT NULL AS displaces
WITH max(CASE WHEN displaces THEN [e.at, e.id, since, true, e] END) AS d,
     max(CASE WHEN e.by = $last THEN [e.at, e.id, since, displaces, e] END) AS o,
     max([e.at, e.id, since, displaces, e]) AS n
WITH CASE WHEN d IS NULL AND o IS NULL THEN n
          WHEN d IS NULL THEN o
          WHEN o IS NULL THEN d
          WHEN o[0] < d[0] OR (o[0] = d[0] AND o[1] <= d[1]) THEN d
          WHEN NOT o[3] AND d[2] > o[0] THEN d
          ELSE o END AS held
WHERE held IS NOT NULL
WITH held, held[4] AS e
RETURN e.id, e.at, held[2], e.value, e.kind, e.by, e.room, e.quote, e.link, e.about, e.retracted,
       e.members, e.sight_people, e.sight_since, e.sight_until, e.sight_grades, e.name

// -- statements --
// Every statement about an entity that the reader may read, with who witnessed it.
UNWIND $entities AS entity
MATCH (e:Event {entity: entity}) WHERE e.at <= $at AND NOT e.void
  AND ($all OR e.room IN $rooms OR e.parties CONTAINS $reader
       OR (e.room IS NULL AND e.by = $person))
RETURN e.at, e.id, e.kind, e.by, e.about, e.there, e.room, e.entity, e.value, e.same, e.decides,
       e.members, e.audience, e.sight_people, e.sight_since, e.sight_until, e.sight_grades,
       e.shown, e.retracted, e.alone, e.mentions, e.quote, e.link, e.name, e.parties,
       e.trusted
ORDER BY e.at, e.id

// -- all_statements --
// Every statement that the reader may read, with who witnessed it.
MATCH (e:Event) WHERE e.entity IS NOT NULL AND e.at <= $at AND NOT e.void
  AND ($all OR e.room IN $rooms OR e.parties CONTAINS $reader
       OR (e.room IS NULL AND e.by = $person))
RETURN e.at, e.id, e.kind, e.by, e.about, e.there, e.room, e.entity, e.value, e.same, e.decides,
       e.members, e.audience, e.sight_people, e.sight_since, e.sight_until, e.sight_grades,
       e.shown, e.retracted, e.alone, e.mentions, e.quote, e.link, e.name, e.parties,
       e.trusted
ORDER BY e.at, e.id

// -- counts --
// How many statements, recorded membership lines and entities the world holds.
OPTIONAL MATCH (e:Event) WHERE e.entity IS NOT NULL AND NOT e.void
WITH count(e) AS statements
OPTIONAL MATCH (m:Move) WHERE NOT m.presumed
WITH statements, count(m) AS moves
OPTIONAL MATCH (e:Event) WHERE e.entity IS NOT NULL AND NOT e.void
RETURN statements + moves, statements, count(DISTINCT e.entity)

// -- entity_names --
// How some entities were first called where the reader may read.
UNWIND $entities AS id
MATCH (e:Event {entity: id}) WHERE NOT e.void
  AND ($all OR e.room IN $rooms OR e.parties CONTAINS $reader
       OR (e.room IS NULL AND e.by = $person))
WITH id, e ORDER BY e.at, e.id
RETURN id, head(collect(e.name))

// -- forget_mark --
// Keeps somebody who was forgotten from being recorded again; the mark is not the id.
MERGE (:Forgotten {mark: $mark})

// -- forgotten --
// The marks of everybody who was forgotten.
MATCH (f:Forgotten) RETURN f.mark

// -- involving --
// Statements in which a person may stand anywhere: as speaker, subject, witness, addressee, in an id or
// in a sentence, where other words may also hold the letters. By id, from one on.
MATCH (e:Event) WHERE e.entity IS NOT NULL AND e.id > $past
  AND (e.by = $person OR e.source CONTAINS $person OR e.members CONTAINS $bar
       OR e.trusted CONTAINS $bar OR $bar IN e.sight_people OR e.audience IN $audiences
       OR any(word IN $words WHERE e.quote CONTAINS word OR e.value CONTAINS word
                                OR e.name CONTAINS word))
RETURN e.id ORDER BY e.id LIMIT $most

// -- words --
// Statements with their sentences, as they were recorded, and everybody who witnessed them.
UNWIND $ids AS id
MATCH (e:Event {id: id})
RETURN e.id, e.source, e.value, e.name, e.quote, e.members, e.audience, e.sight_people,
       e.sight_until, e.void, e.alone, e.trusted

// -- all_audiences --
// The people of every large audience.
MATCH (a:Audience) RETURN a.id, a.members

// -- marks_by --
// What somebody may have pressed, reacted to or taken back.
MATCH (e:Event) WHERE e.entity IS NULL AND e.source CONTAINS $person RETURN e.id, e.source

// -- rooms_of --
// The rooms somebody is in.
MATCH (r:Room) WHERE r.here CONTAINS $bar RETURN r.id, r.here

// -- rooms_been --
// The rooms somebody ever came into.
MATCH (m:Move {person: $person}) RETURN DISTINCT m.room

// -- known_person --
// Whether anything is left of a person beside statements.
MATCH (p:Person {id: $person}) RETURN p.id

// -- deciders --
// Who was named to decide what.
MATCH (a:Authority) RETURN a.id, a.people

// -- rename_deciders --
// Names those who decide anew.
MATCH (a:Authority {id: $id}) SET a.people = $people

// -- delete_event --
// Deletes an event from the world.
MATCH (e:Event {id: $id}) DELETE e

// -- rewrite_event --
// A statement without somebody who was forgotten; who witnessed it is to be understood anew.
MATCH (e:Event {id: $id}) SET e += $row

// -- delete_person --
// Deletes a person, with their comings and goings and who told them what.
OPTIONAL MATCH (m:Move {person: $person}) DELETE m
WITH count(m) AS moves
MATCH (p:Person {id: $person}) DELETE p

// -- unsettled --
// Statements whose witnesses are to be understood anew.
MATCH (e:Event {unsettled: true}) RETURN e.id LIMIT $most

// -- delete_stale_audiences --
// Deletes large audiences with somebody in them that no statement refers to any more.
MATCH (a:Audience) WHERE a.members CONTAINS $bar DELETE a

// -- draw_perspectives --
// The perspectives of a mind that is drawn into an empty graph: `chain` A>B is what A thinks that B
// believes, `person` its last one. The first also holds, as `people`, whom the mind knows.
UNWIND $rows AS row CREATE (p:Perspective) SET p = row

// -- draw_values --
// The values that are believed in a drawn mind; the one without a name stands for "unknown".
UNWIND $rows AS row CREATE (v:Value) SET v = row

// -- draw_inherits --
// In which perspective each one is; both named by their number, which is the order of creation.
UNWIND $rows AS row
MATCH (p:Perspective) WHERE ID(p) = row[0]
MATCH (outer:Perspective) WHERE ID(outer) = row[1]
CREATE (p)-[:INHERITS]->(outer)

// -- draw_beliefs --
// What a perspective holds where it differs from the one it is in, from `t` until before `until`;
// `active`: it still does. `via` is how it was learned, `retained` where somebody was absent.
UNWIND $rows AS row
MATCH (p:Perspective) WHERE ID(p) = row.from
MATCH (v:Value) WHERE ID(v) = row.to
CREATE (p)-[b:BELIEVES]->(v) SET b = row.belief

// -- drawn_belief --
// What a drawn mind says that a chain believes at a moment: from the chain's own perspective, or
// the nearest one that is drawn, outwards to the first that says something of its own. Nothing for a
// chain with somebody the mind does not know.
MATCH (mind:Perspective {depth: 1}) WHERE all(x IN $people WHERE mind.people CONTAINS x)
MATCH (p:Perspective) WHERE p.chain IN $chain
WITH max(p.depth) AS deepest
MATCH (p:Perspective {depth: deepest}) WHERE p.chain IN $chain
MATCH (p)-[:INHERITS*0..3]->(q:Perspective)-[b:BELIEVES {entity: $entity}]->(v:Value)
WHERE b.t <= $at AND (b.active OR b.until > $at)
RETURN CASE WHEN v.unknown THEN NULL ELSE v.name END AS value, b.via AS via, b.event AS event,
       q.depth AS depth
ORDER BY depth DESC LIMIT 1

// -- mark_fork --
// Which workspace this one is a fork of.
MATCH (s:Schema) SET s.fork_of = $source

// -- fork_of --
// Which workspace this one is a fork of, if it is one.
MATCH (s:Schema) RETURN s.fork_of

// -- nodes --
// How many nodes a graph has.
MATCH (n) RETURN count(n)

// -- edges --
// How many edges a graph has.
MATCH ()-[e]->() RETURN count(e)
