"""What an answer looks like: a first line, sections of lines, buttons. Plain values.

It refuses to know any platform's markup and limits, and what a button does: an adapter turns a page
into its own form, and a press comes back as `Press` with the button's own `action` and `value`.
"""

from typing import NamedTuple


class Button(NamedTuple):
    """`action`: what it is for; `value`: about what, at most 1,900 characters, opaque to adapters.

    `urgent`: the one to press. `asks`: what is asked before it is done, None for nothing.
    """

    label: str
    action: str
    value: str
    urgent: bool = False
    asks: str | None = None


class Line(NamedTuple):
    """`link`: where it comes from. `button`: what can be done about this line."""

    text: str
    link: str | None = None
    button: Button | None = None


class Section(NamedTuple):
    """`more`: so many lines are left out; `rest` shows them."""

    title: str
    lines: tuple[Line, ...]
    more: int = 0
    rest: Button | None = None


class Page(NamedTuple):
    """The first line is the answer."""

    head: str
    sections: tuple[Section, ...] = ()
    buttons: tuple[Button, ...] = ()
