"""The command. In a checkout the packages lie beside this file; in the wheel, inside it."""

import sys
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from bot.__main__ import main as run

    run()
