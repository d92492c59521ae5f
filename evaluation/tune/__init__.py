"""Tuning on dev by cross-validation over documents."""
