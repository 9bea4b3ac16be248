"""The bot: listens, feeds the memory, answers."""
