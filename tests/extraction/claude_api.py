"""The model's API as the real SDK sees it, on a transport of ours: what is asked of it is kept."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anthropic
import httpx2

type Reply = httpx2.Response | Exception
type Answers = Callable[[dict[str, Any]], Reply] | Sequence[Reply]

SOON = {"retry-after-ms": "1"}
"""A header that keeps the SDK from sleeping between its tries."""


def kind_of(request: Mapping[str, Any]) -> str:
    """Which pass a request is: "sort", "read" or "story"."""
    fields = request["output_config"]["format"]["schema"]["properties"]
    return {"messages": "sort", "statements": "read", "events": "story"}[next(iter(fields))]


def data_of(request: Mapping[str, Any]) -> Any:
    """What is asked about."""
    content: str = request["messages"][0]["content"]
    assert content.startswith("<data>\n")
    assert content.endswith("\n</data>")
    return json.loads(content[7:-8])


def answer(
    given: object, stop: str = "end_turn", *, thinking: bool = False, **usage: int
) -> httpx2.Response:
    """A message of the API that holds this as JSON, or as it is if it is text."""
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    blocks: list[dict[str, str]] = [{"type": "text", "text": text}]
    if thinking:
        blocks.insert(0, {"type": "thinking", "thinking": "{}", "signature": "s"})
    counted = {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 5000}
    return httpx2.Response(
        200,
        json={
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
            "content": blocks, "stop_reason": stop, "stop_sequence": None,
            "usage": counted | usage,
        },
    )  # fmt: skip


def problem(
    status: int, type: str = "api_error", message: str = "", **headers: str
) -> httpx2.Response:
    body = {"type": "error", "error": {"type": type, "message": message}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, json=body, headers=SOON | named)


class Api:
    """Answers each request in turn, or by a function of it; `requests` holds them as JSON."""

    def __init__(self, answers: Answers) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[httpx2.Headers] = []
        self.urls: list[str] = []
        self._answers = answers
        self._lock = threading.Lock()

    def client(self) -> httpx2.Client:
        return anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(self._reply))

    def _reply(self, request: httpx2.Request) -> httpx2.Response:
        with self._lock:
            nth = len(self.requests)
            self.requests.append(json.loads(request.content) if request.content else {})
            self.headers.append(request.headers)
            self.urls.append(str(request.url))
        reply = self._answers(self.requests[nth]) if callable(self._answers) else self._answers[nth]
        if isinstance(reply, Exception):
            raise reply
        return reply


def stated(**fields: object) -> dict[str, object]:
    """One statement as the model gives it."""
    return {
        "kind": "say", "message": 1, "speaker": 1, "reported": False, "about": None,
        "addressees": [], "entity": None, "new_name": None, "value": "", "decides": True,
        "certainty": "certain", "quote": "",
    } | fields  # fmt: skip


def sorted_as(*sorts: str, needs_context: bool = False) -> dict[str, object]:
    """The messages from 1 on, sorted."""
    return {
        "messages": [
            {"message": n, "sort": sort, "needs_context": needs_context}
            for n, sort in enumerate(sorts, 1)
        ]
    }
