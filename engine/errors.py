"""Every error this system raises on purpose; it knows no database and no platform.

    SecondOrderError
    ├── InvalidInput          what was handed in cannot be meant: an id, a value, a chain
    ├── Unknown               what was asked about is not there (or not readable: the same answer)
    │   ├── UnknownEntity
    │   ├── UnknownPerson
    │   ├── UnknownRoom
    │   └── UnknownEvent
    └── StoreError            the database did not do its part
        ├── StoreUnavailable  it cannot be reached, or it went away
        ├── StoreRefused      it answered, and refused
        ├── NotAllowed        it does not let this user in, or not do that
        ├── Superseded        another process does this now
        ├── TooMuchWaiting    more has arrived than may wait
        └── ServerError       the embedded server cannot be started, or its folder cannot be used

Each carries one sentence for a person and, where it helps, the nearest names. Bugs stay raw.
"""

from collections.abc import Sequence


class SecondOrderError(Exception):
    """One sentence for a person; `suggestions` are names the asker may read."""

    kind = "error"

    def __init__(self, message: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = tuple(suggestions)


class InvalidInput(SecondOrderError):
    kind = "invalid_input"


class Unknown(SecondOrderError):
    kind = "unknown"


class UnknownEntity(Unknown):
    kind = "unknown_entity"


class UnknownPerson(Unknown):
    kind = "unknown_person"


class UnknownRoom(Unknown):
    kind = "unknown_room"


class UnknownEvent(Unknown):
    kind = "unknown_event"


class StoreError(SecondOrderError):
    kind = "store"


class StoreUnavailable(StoreError):
    kind = "store_unavailable"


class StoreRefused(StoreError):
    kind = "store_refused"


class NotAllowed(StoreError):
    kind = "not_allowed"


class Superseded(StoreError):
    kind = "superseded"


class TooMuchWaiting(StoreError):
    kind = "too_much_waiting"


class ServerError(StoreError):
    kind = "server"
