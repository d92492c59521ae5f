"""Judging by hand: a local page with keys, a terminal flow, a journal that loses nothing; and prompts for a model."""
