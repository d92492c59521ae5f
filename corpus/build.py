"""Compile the bundled papers from their Typst sources, byte for byte the same each time.

``python corpus/build.py`` writes every ``corpus/sources/rp-*.typ`` to ``corpus/pdf/``.
``python corpus/build.py rp-03`` builds only the stems that start like that.
``python corpus/build.py --check`` writes nothing and exits 1 if a PDF is not what its
source gives.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typst

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scanner import finished, read_finish

CORPUS = Path(__file__).resolve().parent
SOURCES = CORPUS / "sources"
PDFS = CORPUS / "pdf"


def sources(prefixes: Sequence[str] = ()) -> list[Path]:
    """The papers' sources in name order, those that start with a prefix if any is given."""
    found = sorted(SOURCES.glob("rp-*.typ"))
    return [s for s in found if not prefixes or s.stem.startswith(tuple(prefixes))]


def render(source: Path) -> bytes:
    """One paper as PDF: embedded fonts only, no clock, so that equal sources give equal bytes."""
    data = typst.compile(source, root=SOURCES, ignore_system_fonts=True, timestamp=0)
    return finished(data, read_finish(source.read_text()))


def write(target: Path, data: bytes) -> bool:
    """Put the PDF in place whole; False if it was there already."""
    if target.is_file() and target.read_bytes() == data:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    half_done = target.with_suffix(f".{os.getpid()}.tmp")
    half_done.write_bytes(data)
    half_done.replace(target)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Build or check; 1 if a source does not compile or, when checking, a PDF differs."""
    parser = argparse.ArgumentParser(description="Compile the bundled papers.")
    parser.add_argument("prefix", nargs="*", help="only the papers whose name starts like this")
    parser.add_argument("--check", action="store_true", help="compare only, exit 1 on a difference")
    args = parser.parse_args(argv)

    chosen = sources(args.prefix)
    if not chosen:
        print(f"no source in {SOURCES} matches", file=sys.stderr)
        return 1
    bad = False
    for source in chosen:
        target = PDFS / f"{source.stem}.pdf"
        try:
            data = render(source)
        except typst.TypstError as error:
            bad = True
            hints = "".join(f"\n  hint: {hint}" for hint in error.hints)
            print(f"FAILED   {source.name}: {error.message}{hints}", file=sys.stderr)
            if error.diagnostic:
                print(error.diagnostic, file=sys.stderr)
            continue
        if not args.check:
            print(f"{'written' if write(target, data) else 'same':8} {target.name}")
        elif not target.is_file():
            bad = True
            print(f"MISSING  {target.name}")
        elif target.read_bytes() != data:
            bad = True
            print(f"DIFFERS  {target.name}")
    if args.check and not args.prefix:
        known = {source.stem for source in chosen}
        for stray in sorted(p for p in PDFS.glob("*.pdf") if p.stem not in known):
            bad = True
            print(f"NO SOURCE {stray.name}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
