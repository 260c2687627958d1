"""Sentences of a report: how large errors are, better than what, and how wide ranges."""

import math
from typing import Any

from skinformer.display.report.facts import TargetFacts, as_percent
from skinformer.evaluation.comparison import summary


def describe_backtest(facts: TargetFacts, span: str, n_missing: int) -> str:
    """Describe what was forecast, and how many forecasts have no part in the report."""
    table = facts.main
    n_origins = table["origin"].nunique()
    series = "" if facts.series is None else f" of {len(facts.series):,} series"
    text = (
        f"This report is about forecasts by {facts.name} from {span}{series}. They were made "
        f"from {n_origins:,} origin{'s' if n_origins > 1 else ''}, 1 to "
        f"{table['ahead'].max():,} steps ahead. Each forecast uses only what was known at its "
        "origin."
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
        f"The mean absolute error of {facts.target} is {facts.with_unit(errors['mae'])}, or "
        f"{as_percent(errors['wape'])} of the mean size of the actual values. The mean of "
        f"forecast minus actual value is {facts.with_unit(errors['bias'])}."
    )


def _skill(facts: TargetFacts) -> str:
    """Write how much smaller errors are than those of the reference, and whether by chance."""
    if facts.reference is None:
        return (
            "There is no other forecast to compare with. To see whether the error is small, add a "
            "simple forecast, such as the last season repeated."
        )
    other: Any = facts.comparison.loc[facts.reference]
    skill = facts.errors["skill"]
    if math.isnan(skill):
        return f"{facts.reference} has no errors to compare with."
    word = "smaller" if skill >= 0 else "larger"
    return (
        f"The error is {as_percent(abs(skill))} {word} than that of {facts.reference}, which is "
        f"{facts.with_unit(other['mae'])}. {_significance(facts.errors['p_value'])}"
    )


def _significance(p_value: float) -> str:
    if math.isnan(p_value):
        return (
            "Whether the difference is due to chance cannot be tested: there are too few "
            "origins, or their forecasts overlap too much."
        )
    verdict = "may be due to chance"
    if p_value < 0.05:
        verdict = "is unlikely to be due to chance"
    share = "less than 0.1%" if p_value < 0.001 else as_percent(p_value)
    return (
        f"The difference {verdict}: if both forecasters were equally good, {share} of such "
        "backtests would show a difference as large."
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
        verdict = "as requested"
    elif not abs(off) > chance:
        verdict += ", but this may be due to chance"
    return (
        f"The {as_percent(requested)} prediction interval contained "
        f"{as_percent(errors['coverage'])} of actual values: it is {verdict}. It is "
        f"{facts.with_unit(errors['width'])} wide on average."
    )
