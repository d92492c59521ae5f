"""Measures of answers: citations, correctness, refusal, what retrieval adds, and what confidence is worth."""
