"""Who believes what, in ten lines. Run it from the repository: python examples/quickstart.py"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine import Memory


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="so-") as state, Memory("support", state=state) as mem:
        mem.join(["Maya", "Billing"], "chat")
        mem.say("Billing", "refund", "approved", room="chat")
        mem.leave("Maya")
        mem.set("refund", "rejected", room="chat", by="Finance")

        say = sys.stdout.write
        say(f"Maya believes: {mem.believes('Maya', 'refund').value}\n")
        say(f"Billing thinks Maya believes: {mem.believes(['Billing', 'Maya'], 'refund').value}\n")
        say(f"It is: {mem.truth('refund').value}\n")
        for one in mem.who_knows("refund").people:
            say(f"  {one.person.name}: {one.status} ({one.value})\n")
        say(f"{mem.context_for('Billing', talking_to='Maya')}\n")


if __name__ == "__main__":
    main()
