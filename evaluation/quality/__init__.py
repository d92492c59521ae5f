"""What a benchmark can tell: its questions, judgments, headroom, and whether it sets strategies apart."""
