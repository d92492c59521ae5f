"""Ranked chunks to grounded answers."""
