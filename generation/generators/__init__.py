"""One file per generator: evidence in, an answer out."""
