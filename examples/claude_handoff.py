"""A handoff to an agent: what the memory knows goes before the model call.

    python examples/claude_handoff.py            says what it would send
    ANTHROPIC_API_KEY=… python examples/claude_handoff.py    sends it (needs the anthropic package)

The memory answers without a model; the model only phrases the reply.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine import Memory

MODEL = "claude-sonnet-5-5"


def prompt(mem: Memory) -> str:
    """What the agent is told before it answers Maya."""
    return (
        "You are Escalation and take over from Billing. What you should have in mind, from the"
        f" memory of who knows what:\n{mem.context_for('Escalation', talking_to='Maya')}\n\n"
        "Maya writes: Any update on my refund?\nAnswer her in two sentences."
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="so-") as state, Memory("support", state=state) as mem:
        mem.join(["Maya", "Billing", "Escalation"], "chat")
        mem.say("Billing", "refund", "approved", room="chat")
        mem.join(["Billing", "Escalation", "Finance"], "ops-internal")
        mem.say("Finance", "refund", "rejected", room="ops-internal")
        sys.stdout.write(answer(prompt(mem)))


def answer(text: str) -> str:
    if not os.environ.get("ANTHROPIC_API_KEY"):
        return f"No ANTHROPIC_API_KEY is set; this would be sent to {MODEL}:\n\n{text}\n"
    try:
        import anthropic  # noqa: TID251  an example of using the memory beside the SDK
    except ImportError:
        return "The anthropic package is not installed: pip install anthropic\n"
    reply = anthropic.Anthropic().messages.create(
        model=MODEL, max_tokens=300, messages=[{"role": "user", "content": text}]
    )
    return "".join(block.text for block in reply.content if block.type == "text") + "\n"


if __name__ == "__main__":
    main()
