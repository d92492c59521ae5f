"""Results for other tools: TREC and BEIR files."""
