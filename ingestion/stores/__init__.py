"""Stores, one file each."""
