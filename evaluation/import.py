"""`python -m evaluation.import`: the door to `evaluation.importing`, whose own name is no keyword of Python."""  # noqa: N999

from __future__ import annotations

import sys

from evaluation.importing.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
