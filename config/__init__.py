"""Settings; read once, by the composition root."""
