"""Names beside points so that no two overlap: the nearest free place of a few around each point, greedily.

As in Mote (Fast point-feature label placement for dynamic visualizations, Information Visualization 6, 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHARACTER, LINE, RADIUS = 6.4, 13.0, 7.0  # pixels at 11 px text
ANGLES = ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1))
DISTANCES = (1.0, 2.0, 3.2, 4.6, 6.2, 8.0, 10.0, 12.5, 15.0)


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two share any area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def inside(self, other: Box) -> bool:
        """Whether this one lies within the other."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


def place(points: Sequence[tuple[float, float]], names: Sequence[str], frame: Box) -> list[Box]:
    """A box for the name of every point, within the frame, over no point and no other name where that is possible."""
    taken = [Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in points]
    boxes: list[Box] = []
    for (x, y), name in zip(points, names, strict=True):
        choices = [_around(x, y, len(name) * CHARACTER, away, at) for away in DISTANCES for at in ANGLES]
        within = [box for box in choices if box.inside(frame)] or choices
        free = [box for box in within if not any(box.overlaps(other) for other in taken)]
        box = (free or within)[0]
        taken.append(box)
        boxes.append(box)
    return boxes


def _around(x: float, y: float, width: float, away: float, direction: tuple[int, int]) -> Box:
    """The box that lies in this direction of a point; on the left it ends there, on the right it begins there."""
    across, down = direction
    middle = y + down * LINE * away
    gap = RADIUS + 1 if down == 0 else RADIUS * 0.4
    left = x + gap * away if across > 0 else x - gap * away - width if across < 0 else x - width / 2
    return Box(left, middle - LINE / 2, left + width, middle + LINE / 2)
