"""Judgments, metrics, intervals and the runner. The only package that sees a judgment."""
