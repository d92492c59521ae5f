"""Retrievers, one file each."""
