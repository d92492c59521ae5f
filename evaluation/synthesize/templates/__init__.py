"""Templates: sentences to questions, one file per kind of statement."""

from __future__ import annotations

from evaluation.synthesize.templates import comparisons, definitions, numbers, relations
from evaluation.synthesize.templates.fact import Template

TEMPLATES: tuple[Template, ...] = (
    definitions.definition,
    definitions.naming,
    definitions.apposition,
    definitions.proposed,
    definitions.acronym,
    definitions.origin,
    relations.action,
    relations.working,
    relations.purpose,
    relations.use,
    relations.effect,
    relations.reason,
    relations.condition,
    relations.side,
    comparisons.comparison,
    numbers.count,
    numbers.measured,
    numbers.setting,
    numbers.amount,
)
