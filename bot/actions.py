"""What the buttons of a page say when they are pressed: made and read here; pure.

A value holds ids, versions and numbers: nothing that people wrote and nothing secret, so that whatever
is forged in one gives no more than typing the command would. It refuses to know what a press does.
"""

import hashlib
import re
from datetime import datetime

from bot.pages import Button
from engine.rules import to_micros

PLAN, POST, POSTED = "plan", "post", "posted"
HAND, GOT = "hand", "got"
KNOW, UNSEEN = "know", "unseen"
WHO, RECORD, MORE = "who", "record", "more"
LATER, QUIET, NAMED = "later", "quiet", "named"
OPT_OUT, OPT_IN, FORGET = "out", "in", "forget"

_FIELD = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
_MOST = 1_900  # characters of a value


def plan(entity: str) -> Button:
    """Plan an announcement of an entity's current value."""
    return Button("Plan it", PLAN, entity)


def post(entity: str, version: str, best: bool, messages: int) -> Button:
    """Post the messages of one plan, which is recognised by its `version`."""
    what = "this message" if messages == 1 else f"these {messages} messages"
    return Button("Post it", POST, f"{entity} {version}", urgent=best, asks=f"Post {what} now?")


def posted(entity: str, wrong: int) -> Button:
    """See who is still wrong, of whom `wrong` were."""
    return Button("Look again", POSTED, f"{entity} {wrong}")


def hand(a: str, b: str, version: str) -> Button:
    """Send what b needs from a."""
    return Button(
        "Hand it over", HAND, f"{a} {b} {version}", urgent=True, asks="Send this to them now?"
    )


def got(events: tuple[str, ...]) -> Button:
    """Acknowledge some statements, as many as a value holds."""
    value = ""
    for event in events:
        if len(value) + 1 + len(event) <= _MOST:
            value = f"{value} {event}".strip()
    return Button("Got it", GOT, value, urgent=True)


def know(event: str, at: datetime | None) -> Button:
    """I know this statement; `at`: when the page was made, so that pressing twice is pressing once."""
    return Button("I know this", KNOW, f"{event} {_mark(at)}")


def unseen(event: str, at: datetime | None) -> Button:
    return Button("I never saw this", UNSEEN, f"{event} {_mark(at)}")


def who(entity: str) -> Button:
    return Button("Who knows?", WHO, entity)


def record(event: str) -> Button:
    """Record what a statement says as a decision of whoever presses."""
    return Button("Record it", RECORD, event, urgent=True, asks="Record this as decided?")


def more(question: str, start: int, label: str = "Show all") -> Button | None:
    """The lines of an answer from `start` on; None where the question is none of ids alone."""
    value = f"{question} {start}"
    fit = len(value) <= _MOST and all(map(_FIELD.fullmatch, value.split(" ")))
    return Button(label, MORE, value) if fit else None


def later(room: str, period: str) -> Button:
    return Button("Not now", LATER, f"{room} {period}")


def quiet() -> Button:
    return Button("Not for me", QUIET, "me")


def named() -> Button:
    return Button("Name me in digests", NAMED, "me")


def opt_out() -> Button:
    return Button(
        "Leave me out", OPT_OUT, "me", asks="You are in no answer, count or plan from then on."
    )


def opt_in() -> Button:
    return Button("Take me in again", OPT_IN, "me")


def forget() -> Button:
    return Button(
        "Forget me", FORGET, "me",
        asks="What you said and what you are thought to know is erased everywhere, for good, and"
        " nothing of you is kept from then on.",
    )  # fmt: skip


def fields(value: str, count: int | None = None) -> list[str] | None:
    """What a value holds; None where it is none that was made here (of `count` fields)."""
    found = value.split(" ")
    sound = len(value) <= _MOST and all(map(_FIELD.fullmatch, found))
    return found if sound and count in (None, len(found)) else None


def version(text: str) -> str:
    """A mark of what somebody was shown, to see later whether it still is so."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _mark(at: datetime | None) -> str:
    return str(to_micros(at)) if at else "0"
