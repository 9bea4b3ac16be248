"""Where a model's answers come from in a measuring run, and where they and its questions are kept.

`--extractor claude` asks the model, with the key in SECONDORDER_ANTHROPIC_API_KEY. `--record FILE` keeps
its answers; `--replay FILE` answers from such a file and needs no key; `--requests OUT` writes down what
would be asked and asks nobody. The files are described in docs/extraction.md.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from extraction.answers import Recorded, Wanted

KEY = "SECONDORDER_ANTHROPIC_API_KEY"

Record = Annotated[Path | None, typer.Option(help="Keep what the model answers in this file.")]
Replay = Annotated[Path | None, typer.Option(help="Take the model's answers from this file.")]
Requests = Annotated[
    Path | None, typer.Option(help="Write there what would be asked, and ask nobody.")
]


class Answering(NamedTuple):
    key: str | None = None
    record: Path | None = None
    replay: Path | None = None
    requests: Path | None = None

    @property
    def offline(self) -> bool:
        """Nobody is asked: what has no answer has none."""
        return self.replay is not None and self.record is None

    @property
    def asks(self) -> bool:
        return bool(self.key and not self.requests and not self.offline)

    @property
    def asking_key(self) -> str | None:
        return None if self.requests else self.key

    def answers(self) -> Recorded:
        """Raises InvalidInput for a file that cannot be used."""
        return Recorded(*filter(None, [self.replay]), record=self.record)

    def wanted(self) -> Wanted | None:
        return Wanted(self.requests) if self.requests else None

    def refused(self, extractor: str, known: Collection[str]) -> str | None:
        """Why this cannot be meant, before anything is read; None where it can."""
        if extractor not in known:
            return f"--extractor: there is no {extractor!r}, only {', '.join(known)}."
        if extractor != "claude":
            if self.record or self.replay or self.requests:
                return "--record, --replay and --requests are for --extractor claude."
        elif self.requests and self.record:
            return "--requests asks nobody, so there is nothing to --record."
        elif not (self.key or self.requests or self.offline):
            return f"--extractor claude needs a key in {KEY}, or --replay FILE, or --requests OUT."
        return None
