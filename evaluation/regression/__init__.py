"""The regression gate: a run made anew against the committed baseline. `guard` carries it out, `ruling` judges."""
