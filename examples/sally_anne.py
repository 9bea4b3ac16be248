"""The classic false-belief test (Baron-Cohen, Leslie and Frith, 1985): Sally puts her marble into
the basket and goes; Anne moves it to the box. Where will Sally look?

Run it from the repository: python examples/sally_anne.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine import Memory


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="so-") as state, Memory("sally", state=state) as mem:
        mem.join(["Sally", "Anne"], "room")
        mem.set("marble", "basket", room="room", by="Sally")
        mem.leave("Sally", "room")
        mem.set("marble", "box", room="room", by="Anne")
        mem.join("Sally", "room")  # she comes back, and has not looked yet

        for chain in (["Sally"], ["Anne"], ["Anne", "Sally"], ["Sally", "Anne"]):
            belief = mem.believes(chain, "marble")
            sys.stdout.write(f"{' thinks '.join(chain)} thinks it is in the {belief.value}\n")
        sys.stdout.write(f"It is in the {mem.truth('marble').value}\n")
        [wrong] = mem.false_beliefs()
        sys.stdout.write(f"{wrong.person.name} will look in the {wrong.believes}.\n")


if __name__ == "__main__":
    main()
