"""What a model answered, kept so that asking the same again is free, and can be done without a key.

It knows no model and no window: an answer is JSON with the key of its request. Files hold what
people wrote; they are made for measuring, and nowhere else.
"""

import hashlib
import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.errors import InvalidInput

_log = logging.getLogger(__name__)

Pass = Literal["sort", "read", "story"]
"""What a model is asked for: sorting messages, reading statements, reading a story of Hi-ToM."""


class Asked(NamedTuple):
    """A request as a store of answers sees it.

    `key`: a hash of everything that is sent. `case`: the name a measuring run gives it, and `part`
    which piece of the case's window it is, counted from 0.
    """

    key: str
    kind: Pass
    case: str | None = None
    part: int = 0


class Usage(BaseModel):
    """Tokens of one call: `input` is what was neither read from the prompt cache nor written to it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Answer(BaseModel):
    """What the model returned, as JSON, and how it came to stop."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    answer: Any = None
    stop_reason: str | None = "end_turn"
    usage: Usage | None = None


class Answers(Protocol):
    """Safe to use from several threads."""

    def get(self, asked: Asked) -> Answer | None:
        """What was answered to this request; None if it was not asked yet."""
        ...

    def put(self, asked: Asked, model: str, answer: Answer) -> None:
        """Keeps an answer that was of use."""
        ...


class Remembered:
    """The last `limit` answers, in memory: what is read again after a failure is not paid for again."""

    def __init__(self, limit: int = 2_000) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, asked: Asked) -> Answer | None:
        with self._lock:
            if asked.key in self._kept:
                self._kept.move_to_end(asked.key)
            return self._kept.get(asked.key)

    def put(self, asked: Asked, model: str, answer: Answer) -> None:
        with self._lock:
            self._kept[asked.key] = answer
            self._kept.move_to_end(asked.key)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        """Nothing that anybody wrote is left here."""
        with self._lock:
            self._kept.clear()


class Recorded:
    """A file of answers, one JSON object a line (docs/extraction.md, "Recorded answers").

    Looked up by key, else by case, pass and part: whoever answers from outside need not know our
    hashes. What is put is appended at once, and on disk. A last line that was cut off in the middle, as
    by a killed process, is left out with a warning, and what is put begins a new one. Raises InvalidInput for a file that cannot be used.
    """

    def __init__(self, *files: Path, record: Path | None = None) -> None:
        self._by_key: dict[str, Answer] = {}
        self._by_case: dict[tuple[str, Pass, int], Answer] = {}
        self._lock = threading.Lock()
        self._record = record
        for file in files:
            self._load(file)
        if record is not None:
            if record.exists() and record not in files:
                self._load(record)
            _append(record)

    def get(self, asked: Asked) -> Answer | None:
        with self._lock:
            found = self._by_key.get(asked.key)
            if found is None and asked.case is not None:
                found = self._by_case.get((asked.case, asked.kind, asked.part))
            return found

    def put(self, asked: Asked, model: str, answer: Answer) -> None:
        with self._lock:
            self._by_key[asked.key] = answer
            if self._record is not None:
                line = _named(asked) | {"model": model} | answer.model_dump(mode="json")
                _append(self._record, line)

    def _load(self, file: Path) -> None:
        lines = _lines(file)
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                self._add(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                if number == len(lines) and _is_torn(line):
                    _log.warning("the last line of a file of answers was cut off: it is left out")
                    continue
                raise InvalidInput(
                    f"{file} cannot be used: line {number} is no recorded answer."
                ) from None

    def _add(self, row: Mapping[str, Any]) -> None:
        kind = _PASSES[row["pass"]]
        try:
            answer = Answer.model_validate({"answer": row["answer"], **row})
        except ValidationError:
            raise ValueError from None
        if not row.get("key") and row.get("case") in (None, ""):
            raise ValueError
        if row.get("key"):
            self._by_key[str(row["key"])] = answer
        case = row.get("case")
        if isinstance(case, int | float):  # as the runs name a case whose id is a number
            case = f"[{json.dumps(case)},1]"
        if case:
            self._by_case[str(case), kind, int(row.get("part") or 0)] = answer


class Wanted:
    """A file of the requests that have no answer, one JSON object a line, each once.

    Any model can answer them; with `case`, `pass`, `part` and its `answer` a line is a recorded one.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._written: set[str] = set()
        self._lock = threading.Lock()
        _append(file)

    def put(self, asked: Asked, model: str, system: str, content: str, schema: object) -> None:
        line = _named(asked) | {
            "model": model,
            "system": system,
            "messages": [{"role": "user", "content": content}],
            "schema": schema,
        }
        with self._lock:
            if asked.key not in self._written:
                self._written.add(asked.key)
                _append(self._file, line)


def key_of(*sent: object) -> str:
    """The name of a request: the same for the same prompt, model, messages and candidates."""
    told = json.dumps(sent, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()[:32]


_PASSES: Mapping[str, Pass] = {"sort": "sort", "read": "read", "story": "story"}


def _named(asked: Asked) -> dict[str, object]:
    named: dict[str, object] = {"key": asked.key, "pass": asked.kind}
    if asked.case is not None:
        named["case"] = asked.case
    if asked.part:
        named["part"] = asked.part
    return named


def _lines(file: Path) -> list[str]:
    try:
        # Not splitlines(): what people write may hold U+2028, which JSON leaves as it is.
        ended, end, begun = file.read_bytes().rpartition(b"\n")
        # A line that was cut off may have been cut inside of a character.
        return [
            *(ended.decode("utf-8").split("\n") if end else []),
            begun.decode("utf-8", "replace"),
        ]
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(
            f"{file} cannot be used: there is no file of that name to read."
        ) from None


def _unended(stream: BinaryIO) -> bytes:
    """What stands after the last line end."""
    found, at = b"", stream.seek(0, os.SEEK_END)
    while at > 0 and b"\n" not in found:
        step = min(at, 65_536)
        at = stream.seek(at - step)
        found = stream.read(step) + found
    return found.rpartition(b"\n")[2]


def _is_torn(line: str) -> bool:
    """Whether it begins like an answer and breaks off: it is no JSON, and no line end came after it."""
    try:
        json.loads(line)
    except ValueError:
        return line.lstrip().startswith("{")
    return False


def _append(file: Path, line: Mapping[str, object] | None = None) -> None:
    """Adds a line whole and on disk, or only makes sure that the file can be written. What a killed
    process left of a last line makes room for it."""
    try:
        with file.open("ab+") as stream:
            if line is not None:
                begun = _unended(stream)
                if begun and _is_torn(begun.decode("utf-8", "replace")):
                    stream.truncate(stream.seek(0, os.SEEK_END) - len(begun))
                    begun = b""
                text = ("\n" if begun else "") + json.dumps(line, ensure_ascii=False) + "\n"
                stream.write(text.encode("utf-8", "replace"))
                stream.flush()
                os.fsync(stream.fileno())
    except OSError:
        raise InvalidInput(f"{file} cannot be written.") from None
