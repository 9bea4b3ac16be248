"""Theory-of-mind memory on FalkorDB: who believes what, and who thinks who knows.

    from engine import Memory

    mem = Memory("support")
    mem.join(["Maya", "Billing"], "chat")
    mem.say("Billing", "refund", "approved", room="chat")
    mem.leave("Maya")
    mem.set("refund", "rejected", room="chat", by="Finance")
    mem.believes(["Billing", "Maya"], "refund").value  # 'approved': Billing knows she is out of date

It knows people, rooms, entities and events, and refuses to know any platform, language or model.
"""

from engine.directory import PersonInfo
from engine.errors import (
    InvalidInput,
    NotAllowed,
    SecondOrderError,
    StoreUnavailable,
    UnknownEntity,
    UnknownPerson,
)
from engine.links import folded
from engine.memory import Memory, workspaces
from engine.reading import Reader, RoomInfo, identify, nearest
from engine.view import View

__all__ = [
    "InvalidInput",
    "Memory",
    "NotAllowed",
    "PersonInfo",
    "Reader",
    "RoomInfo",
    "SecondOrderError",
    "StoreUnavailable",
    "UnknownEntity",
    "UnknownPerson",
    "View",
    "folded",
    "identify",
    "nearest",
    "workspaces",
]
