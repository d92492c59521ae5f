"""Pools for judging: what nobody has judged yet, blind, and what came back."""
