"""Queries to ranked chunks: retrievers, fusers and rerankers composed from YAML."""
