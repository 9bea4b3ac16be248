"""Pages as Block Kit, always inside its limits; pure.

It refuses to know what an answer says and what a button does. Limits: section A8 of the Slack
research. What people wrote is escaped and never parsed by Slack (`verbatim`), so it pings nobody.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bot.pages import Button, Line, Page, Section

type Block = dict[str, Any]

MOST_BLOCKS = 50
MOST_TEXT = 2_900  # of a section; Slack takes 3,000
MOST_JSON = 12_000  # of all blocks; about 13,200 were taken in practice
MOST_FALLBACK = 3_000  # of the text beside the blocks; Slack takes 4,000
MOST_LINE = 600
MOST_CALLED = 50  # people; their names are 14 characters each
_PERSON = re.compile(r"[UW][A-Z0-9]{1,20}")
_BUTTONS = 5  # of a row; Slack takes 25, and shows five without folding them


def escaped(text: str) -> str:
    """The three characters that Slack reads as markup, and the one that opens code."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("`", "ˋ")


def message(page: Page, mentions: Sequence[str] = ()) -> dict[str, Any]:
    """`blocks` and the `text` that notifications and screen readers use. `mentions`: the people who
    are told, in a line of their own before it; nothing else in a page pings anybody."""
    called = _called(mentions)
    first = [_section(called)] if called else []
    text = fallback(page, mentions)
    for most in (MOST_LINE, 250, 120):
        shown = _cut(page, most)
        while True:
            blocks = [*first, *_blocks(shown, most)]
            if _fits(blocks):
                return {"text": text, "blocks": blocks}
            fewer = _shorter(shown)
            if fewer is None:
                break
            shown = fewer
    return {"text": text, "blocks": [*first, _section(_short(escaped(page.head), MOST_TEXT))]}


def fallback(page: Page, mentions: Sequence[str] = ()) -> str:
    """A page without blocks: its first line, and how many lines each section has."""
    counts = [f"{one.title}: {len(one.lines) + one.more}" for one in page.sections]
    text = _short(escaped("\n".join([page.head, *counts])), MOST_FALLBACK)
    return "\n".join(filter(None, [_called(mentions), text]))


def _called(mentions: Sequence[str]) -> str:
    """Up to `MOST_CALLED` people; what is no id calls nobody."""
    ids = [id for id in dict.fromkeys(mentions) if _PERSON.fullmatch(id)]
    more = f" and {len(ids) - MOST_CALLED} more" if len(ids) > MOST_CALLED else ""
    return " ".join(f"<@{id}>" for id in ids[:MOST_CALLED]) + more


def _fits(blocks: list[Block]) -> bool:
    return len(blocks) <= MOST_BLOCKS and len(json.dumps(blocks, ensure_ascii=False)) <= MOST_JSON


def _cut(page: Page, most: int) -> Page:
    sections = tuple(
        one._replace(lines=tuple(line._replace(text=_short(line.text, most)) for line in one.lines))
        for one in page.sections
    )
    return page._replace(sections=sections)


def _shorter(page: Page) -> Page | None:
    """With a line less in the longest section; None when none has more than one."""
    longest = max(page.sections, key=lambda one: len(one.lines), default=None)
    if longest is None or len(longest.lines) < 2:
        return None
    less = longest._replace(lines=longest.lines[:-1], more=longest.more + 1)
    return page._replace(sections=tuple(less if s is longest else s for s in page.sections))


def _blocks(page: Page, most: int) -> Iterator[Block]:
    yield _section(_short(escaped(page.head), MOST_TEXT))
    for section in page.sections:
        yield from _of(section, most)
    yield from _rows(page.buttons)


def _of(section: Section, most: int) -> Iterator[Block]:
    """A section's title and lines, as few blocks as hold them; a line with a button is its own."""
    text = f"*{escaped(section.title)}*"
    for line in section.lines:
        shown = _line(line, most)
        if line.button is not None:
            if text:
                yield _section(text)
            yield _section(shown, accessory=_button(line.button))
            text = ""
        elif len(text) + 1 + len(shown) > MOST_TEXT:
            yield _section(text)
            text = shown
        else:
            text = f"{text}\n{shown}" if text else shown
    if text:
        yield _section(text)
    if section.more:
        more = f"and {section.more} more"
        if section.rest is None:
            yield {"type": "context", "elements": [_mrkdwn(more)]}
        else:
            yield _section(more, accessory=_button(section.rest))


def _line(line: Line, most: int) -> str:
    shown = f"• {_short(escaped(line.text), most * 2)}"
    return f"{shown} <{_url(line.link)}|↗>" if line.link and _is_link(line.link) else shown


def _is_link(link: str) -> bool:
    return link.startswith(("https://", "http://")) and len(link) <= 500


def _url(link: str) -> str:
    """Inside angle brackets, where a bar would end it."""
    return link.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")


def _section(text: str, accessory: Block | None = None) -> Block:
    block: Block = {"type": "section", "text": _mrkdwn(text or "…")}
    return block if accessory is None else block | {"accessory": accessory}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _rows(buttons: Iterable[Button]) -> Iterator[Block]:
    waiting = [_button(one, number) for number, one in enumerate(buttons)]
    while waiting:
        yield {"type": "actions", "elements": waiting[:_BUTTONS]}
        waiting = waiting[_BUTTONS:]


def action(action_id: str) -> str:
    """What a pressed button is for."""
    return action_id.partition(":")[0]


def _button(one: Button, number: int = 0) -> Block:
    """Numbered, since no two of a row may have the same `action_id`."""
    block: Block = {
        "type": "button",
        "text": {"type": "plain_text", "text": _short(one.label, 75), "emoji": False},
        "action_id": f"{one.action}:{number}",
        "value": one.value,
    }
    if one.urgent:
        block["style"] = "primary"
    if one.asks is not None:
        block["confirm"] = {
            "title": {"type": "plain_text", "text": _short(one.label, 100)},
            "text": {"type": "plain_text", "text": _short(one.asks, 300)},
            "confirm": {"type": "plain_text", "text": "Yes"},
            "deny": {"type": "plain_text", "text": "No"},
        }
    return block


def _short(text: str, most: int) -> str:
    """Cut where no escape is torn apart."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    start = cut.rfind("&", max(0, len(cut) - 5))
    if start >= 0 and ";" not in cut[start:]:
        cut = cut[:start]
    return cut + "…"
