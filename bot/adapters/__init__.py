"""One module per way to chat, each the only importer of its SDK."""
