"""Theory-of-mind memory on FalkorDB: who believes what, and who thinks who knows."""
