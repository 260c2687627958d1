"""Sentences of a report: how large errors are, better than what, and how wide ranges."""

import math
from typing import Any

from skinformer.display.report.facts import TargetFacts, as_percent
from skinformer.evaluation.comparison import summary


def describe_backtest(facts: TargetFacts, span: str, n_missing: int) -> str:
    """Describe what was forecast, and how many forecasts have no part in the report."""
    table = facts.main
    series = "" if facts.series is None else f" of {len(facts.series):,} series"
    text = (
        f"{facts.name} forecast the time from {span}{series}. Origins: "
        f"{table['origin'].nunique():,}; steps ahead: 1 to {table['ahead'].max():,}; each forecast "
        "sees what was known at its origin alone."
    )
    if n_missing:
        text += f" Left out because an actual value or a forecast is missing: {n_missing:,}."
    return text


def summary_sentences(facts: TargetFacts) -> list[str]:
    """Write how good the forecasts of a target are."""
    sentences = [_error(facts), _skill(facts)]
    if facts.levels:
        sentences.append(_coverage(facts))
    return sentences


def _error(facts: TargetFacts) -> str:
    errors = facts.errors
    return (
        f"On average a forecast of {facts.target} is off by {facts.with_unit(errors['mae'])}, or "
        f"{as_percent(errors['wape'])} of the average size of the actual values. The mean of "
        f"forecast less actual value is {facts.with_unit(errors['bias'])}."
    )


def _skill(facts: TargetFacts) -> str:
    """Write how much smaller errors are than those of the reference, and whether by chance."""
    if facts.reference is None:
        return (
            "Nothing was given to compare with. To see whether that is good, add a simple "
            "forecast, such as the last season repeated."
        )
    other: Any = facts.comparison.loc[facts.reference]
    skill = facts.errors["skill"]
    if math.isnan(skill):
        return f"{facts.reference} makes no errors to compare with."
    word = "smaller" if skill >= 0 else "larger"
    return (
        f"Its errors are {as_percent(abs(skill))} {word} than those of {facts.reference}, which "
        f"is off by {facts.with_unit(other['mae'])}. {_significance(facts.errors['p_value'])}"
    )


def _significance(p_value: float) -> str:
    if math.isnan(p_value):
        return "There are too few origins, or they overlap too much, to test that."
    verdict = "may be" if p_value >= 0.05 else "is more than"
    share = "fewer than 0.1%" if p_value < 0.001 else as_percent(p_value)
    return (
        f"That {verdict} chance: without a true difference, so large a one comes in {share} "
        "of such backtests."
    )


def _coverage(facts: TargetFacts) -> str:
    """Write whether the widest range holds the share that it is meant to."""
    close = 0.02  # a coverage so far from what was requested is as requested
    errors = facts.errors
    requested = max(facts.levels) - min(facts.levels)
    off = errors["coverage"] - requested
    by_origin: Any = summary(facts.main, "origin")["coverage"]
    chance = 2 * by_origin.sem()  # truths of one origin fail together
    verdict = "too narrow" if off < 0 else "wider than needed"
    if abs(off) <= close:
        verdict = "as promised"
    elif not abs(off) > chance:
        verdict += ", but by no more than chance may bring"
    return (
        f"The {as_percent(requested)} prediction interval contained "
        f"{as_percent(errors['coverage'])} of actual values: it is {verdict}. It is "
        f"{facts.with_unit(errors['width'])} wide on average."
    )
