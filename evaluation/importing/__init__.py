"""Questions of one's own, from a spreadsheet or JSON lines, made a benchmark: read, located, merged, written."""
