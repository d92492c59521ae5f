"""Models that read a question and a quote together, for confidence: one file each, named in `conf/reader/`."""
