"""What a small Slack workspace holds, and what happens in it; it knows no network.

Every change returns the events that Slack would send for it, each with the channel it concerns.
Shapes are those of the Slack research, sections A4 and A5; ids and names are made up by the tests.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

type Event = dict[str, Any]

LETTERS = {"public": "C", "private": "G", "mpim": "G", "im": "D"}
TYPES = {"public": "channel", "private": "group", "mpim": "mpim", "im": "im"}


class Refused(Exception):
    """An error as the Web API says it: `channel_not_found`, `not_in_channel`, …"""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class Happened(NamedTuple):
    """An event, and the channel whose members it concerns (None: everybody who is installed)."""

    event: Event
    channel: str | None


@dataclass
class User:
    id: str
    name: str
    team: str
    real_name: str = ""
    tz: str = "UTC"
    is_bot: bool = False
    deleted: bool = False
    guest: bool = False
    known: bool = True
    """Whether `users.info` finds the user: some people of other organisations it does not."""

    def shown(self) -> dict[str, Any]:
        name = self.real_name or self.name
        return {
            "id": self.id, "team_id": self.team, "name": self.name, "deleted": self.deleted,
            "real_name": name, "tz": self.tz, "is_bot": self.is_bot, "is_app_user": False,
            "is_restricted": self.guest, "is_ultra_restricted": False,
            "profile": {"real_name": name, "display_name": name, "team": self.team},
        }  # fmt: skip


@dataclass
class Channel:
    id: str
    name: str
    kind: str = "public"
    members: list[str] = field(default_factory=list)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    archived: bool = False
    external: bool = False

    @property
    def type(self) -> str:
        return TYPES[self.kind]

    def shown(self, bot: str) -> dict[str, Any]:
        return {
            "id": self.id, "name": self.name, "name_normalized": self.name,
            "is_channel": self.kind in ("public", "private"), "is_group": False,
            "is_im": self.kind == "im", "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "public", "is_archived": self.archived,
            "is_general": False, "is_shared": self.external, "is_ext_shared": self.external,
            "is_org_shared": False, "is_member": bot in self.members,
            "created": 1_790_000_000, "num_members": len(self.members),
            "topic": {"value": ""}, "purpose": {"value": ""},
            **({"user": next((m for m in self.members if m != bot), "")} if self.kind == "im" else {}),
        }  # fmt: skip

    def roots(self) -> list[dict[str, Any]]:
        """What stands in the channel itself, oldest first: no replies but the broadcast ones."""
        return [
            message
            for _, message in sorted(self.messages.items())
            if message.get("thread_ts", message["ts"]) == message["ts"]
            or message.get("subtype") == "thread_broadcast"
        ]

    def thread(self, root: str) -> list[dict[str, Any]]:
        """A thread's root and its replies, oldest first."""
        return [
            message
            for ts, message in sorted(self.messages.items())
            if ts == root or message.get("thread_ts") == root
        ]


class Workspace:
    """One team. Time stands still unless it is told to go on; every `ts` is a new one."""

    def __init__(self, team: str = "T1", bot: str = "U0BOT", now: float = 1_800_000_000.0) -> None:
        self.team = team
        self.bot = bot
        self.now = now
        self._last = 0
        self.users: dict[str, User] = {bot: User(bot, "secondorder", team, is_bot=True)}
        self.channels: dict[str, Channel] = {}
        self.groups: dict[str, list[str]] = {}

    # ---------------------------------------------------------------------------- time and names

    def tick(self) -> str:
        """A `ts` later than every one before it."""
        micros = max(int(self.now * 1_000_000), self._last + 100)
        self._last = micros
        return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"

    @property
    def micros(self) -> int:
        """The newest `ts`, in microseconds."""
        return self._last

    def later(self, seconds: float) -> None:
        self.now += seconds

    def person(self, id: str, name: str = "", **more: Any) -> User:
        self.users[id] = User(id, name or id.lower(), more.pop("team", self.team), **more)
        return self.users[id]

    def channel(
        self, id: str, name: str = "", members: Iterable[str] = (), kind: str = "public"
    ) -> Channel:
        self.channels[id] = Channel(id, name or id.lower(), kind, list(members))
        return self.channels[id]

    def one(self, channel: str) -> Channel:
        if channel not in self.channels:
            raise Refused("channel_not_found")
        return self.channels[channel]

    def message(self, channel: str, ts: str) -> dict[str, Any]:
        messages = self.one(channel).messages
        if ts not in messages:
            raise Refused("message_not_found")
        return messages[ts]

    def direct(self, users: Iterable[str]) -> Channel:
        """The conversation between the bot and some people."""
        everyone = sorted({self.bot, *users})
        kind = "im" if len(everyone) == 2 else "mpim"
        for known in self.channels.values():
            if known.kind == kind and sorted(known.members) == everyone:
                return known
        return self.channel(f"D{len(self.channels):04d}X", "directmessage", everyone, kind)

    # ---------------------------------------------------------------------------- what is said

    def say(
        self,
        user: str,
        channel: str,
        text: str,
        thread: str | None = None,
        broadcast: bool = False,
        **more: Any,
    ) -> tuple[str, list[Happened]]:
        """Somebody posts; returns the message's `ts` too."""
        where, ts = self.one(channel), self.tick()
        message = {
            "type": "message",
            "user": user,
            "text": text,
            "ts": ts,
            "team": self.team,
        } | more
        if thread is not None:
            message["thread_ts"] = thread
            self._count_reply(where, thread, user, ts)
        if broadcast:
            message["subtype"] = "thread_broadcast"
            message["root"] = dict(where.messages.get(thread or "", {}))
        where.messages[ts] = message
        event = message | {"channel": channel, "channel_type": where.type, "event_ts": ts}
        happened = [Happened(event, channel)]
        if f"<@{self.bot}>" in text and where.kind != "im":
            mention = {k: v for k, v in event.items() if k != "channel_type"}
            happened.append(Happened(mention | {"type": "app_mention"}, channel))
        return ts, happened

    def _count_reply(self, where: Channel, thread: str, user: str, ts: str) -> None:
        root = where.messages.get(thread)
        if root is not None:
            users = dict.fromkeys([*root.get("reply_users", ()), user])
            root |= {
                "thread_ts": thread, "reply_count": root.get("reply_count", 0) + 1,
                "reply_users": list(users), "reply_users_count": len(users), "latest_reply": ts,
            }  # fmt: skip

    def edit(
        self, channel: str, ts: str, text: str, by: str | None = None, **more: Any
    ) -> list[Happened]:
        """Somebody edits a message; with the same text it is a link preview or the like."""
        where, old = self.one(channel), dict(self.message(channel, ts))
        when = self.tick()
        new = old | {"text": text} | more
        if text != old["text"]:
            new["edited"] = {"user": by or old.get("user", ""), "ts": when}
        where.messages[ts] = new
        return [self._hidden(where, "message_changed", when, message=new, previous_message=old)]

    def delete(self, channel: str, ts: str) -> list[Happened]:
        """A message goes; the root of a thread leaves a tombstone."""
        where, old = self.one(channel), dict(self.message(channel, ts))
        when = self.tick()
        if old.get("reply_count"):
            tomb = {
                "type": "message", "subtype": "tombstone", "text": "This message was deleted.",
                "user": "USLACKBOT", "hidden": True, "ts": ts, "thread_ts": ts,
                "reply_count": old["reply_count"], "latest_reply": old["latest_reply"],
            }  # fmt: skip
            where.messages[ts] = tomb
            return [
                self._hidden(where, "message_changed", when, message=tomb, previous_message=old)
            ]
        del where.messages[ts]
        return [self._hidden(where, "message_deleted", when, deleted_ts=ts, previous_message=old)]

    def _hidden(self, where: Channel, subtype: str, ts: str, **more: Any) -> Happened:
        event = {
            "type": "message", "subtype": subtype, "hidden": True, "channel": where.id,
            "channel_type": where.type, "ts": ts, "event_ts": ts,
        }  # fmt: skip
        return Happened(event | more, where.id)

    def react(self, user: str, channel: str, ts: str, name: str) -> list[Happened]:
        message = self.message(channel, ts)
        known = {one["name"]: one for one in message.setdefault("reactions", [])}
        one = known.get(name)
        if one is None:
            one = {"name": name, "users": [], "count": 0}
            message["reactions"].append(one)
        if user in one["users"]:
            raise Refused("already_reacted")
        one["users"].append(user)
        one["count"] = len(one["users"])
        return [self._reaction("reaction_added", user, channel, ts, name)]

    def unreact(self, user: str, channel: str, ts: str, name: str) -> list[Happened]:
        message = self.message(channel, ts)
        for one in message.get("reactions", []):
            if one["name"] == name and user in one["users"]:
                one["users"].remove(user)
                one["count"] = len(one["users"])
        message["reactions"] = [one for one in message.get("reactions", []) if one["users"]]
        return [self._reaction("reaction_removed", user, channel, ts, name)]

    def _reaction(self, type: str, user: str, channel: str, ts: str, name: str) -> Happened:
        author = self.one(channel).messages[ts].get("user", "")
        event = {
            "type": type, "user": user, "reaction": name, "item_user": author,
            "item": {"type": "message", "channel": channel, "ts": ts}, "event_ts": self.tick(),
        }  # fmt: skip
        return Happened(event, channel)

    # ---------------------------------------------------------------------------- who is where

    def join(self, user: str, channel: str, inviter: str | None = None) -> list[Happened]:
        where = self.one(channel)
        if user in where.members:
            raise Refused("already_in_channel")
        where.members.append(user)
        ts = self.tick()
        event = {
            "type": "member_joined_channel", "user": user, "channel": channel,
            "channel_type": "C" if where.kind == "public" else "G", "team": self.team,
            "event_ts": ts, **({"inviter": inviter} if inviter else {}),
        }  # fmt: skip
        notice = {
            "type": "message", "subtype": "channel_join", "user": user,
            "text": f"<@{user}> has joined the channel", "ts": ts,
        }  # fmt: skip
        where.messages[ts] = notice
        told = notice | {"channel": channel, "channel_type": where.type, "event_ts": ts}
        return [Happened(event, channel), Happened(told, channel)]

    def leave(self, user: str, channel: str) -> list[Happened]:
        where = self.one(channel)
        where.members.remove(user)
        ts = self.tick()
        if user == self.bot:
            kind = "channel_left" if where.kind == "public" else "group_left"
            return [Happened({"type": kind, "channel": channel, "event_ts": ts}, None)]
        event = {
            "type": "member_left_channel", "user": user, "channel": channel,
            "channel_type": "C" if where.kind == "public" else "G", "team": self.team,
            "event_ts": ts,
        }  # fmt: skip
        return [Happened(event, channel)]

    def deactivate(self, user: str) -> list[Happened]:
        self.users[user].deleted = True
        event = {"type": "user_change", "user": self.users[user].shown(), "event_ts": self.tick()}
        return [Happened(event, None)]

    def close(self, channel: str) -> list[Happened]:
        """A public channel becomes private; its id stays."""
        where = self.one(channel)
        where.kind = "private"
        ts = self.tick()
        event = {
            "type": "message", "subtype": "channel_convert_to_private", "user": where.members[0],
            "text": "made this channel private", "channel": channel, "channel_type": "group",
            "ts": ts, "event_ts": ts,
        }  # fmt: skip
        return [Happened(event, channel)]
