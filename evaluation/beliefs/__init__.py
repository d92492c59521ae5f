"""Beliefs about retrieval that are often stated from a few queries, tested on every collection at hand."""
