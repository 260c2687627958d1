"""Sentences of a report: how large errors are, better than what, and how wide ranges."""

from __future__ import annotations

import math
from typing import Any

from skinformer.display.report.facts import TargetFacts, as_percent
from skinformer.evaluation.comparison import summary

#: From here on a difference may be chance.
_CHANCE = 0.05
#: A coverage so far from what was requested is as requested.
_CLOSE = 0.02


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
        text += f" Left out for want of a truth or a forecast: {n_missing:,}."
    return text


def summary_sentences(facts: TargetFacts) -> list[str]:
    """Write how good the forecasts of a target are."""
    sentences = [_error(facts), _skill(facts)]
    if facts.levels:
        sentences.append(_coverage(facts))
    return sentences


def _error(facts: TargetFacts) -> str:
    row: Any = facts.comparison.loc[facts.name]
    return (
        f"On average a forecast of {facts.target} is off by {facts.with_unit(row['mae'])}, or "
        f"{as_percent(row['wape'])} of the truth's average size. The mean of forecast less truth "
        f"is {facts.with_unit(row['bias'])}."
    )


def _skill(facts: TargetFacts) -> str:
    if facts.reference is None:
        return (
            "Nothing was given to compare with. Whether that is good shows beside a simple "
            "forecast, such as the last season repeated."
        )
    row, other = facts.comparison.loc[[facts.name, facts.reference]].to_dict("records")
    if math.isnan(row["skill"]):
        return f"{facts.reference} makes no errors to compare with."
    word = "smaller" if row["skill"] >= 0 else "larger"
    text = f"Its errors are {as_percent(abs(row['skill']))} {word} than those of {facts.reference},"
    text += f" which is off by {facts.with_unit(other['mae'])}. "
    p_value = row["p_value"]
    if math.isnan(p_value):
        return f"{text}There are too few origins, or they overlap too much, to test that."
    verdict = "may be" if p_value >= _CHANCE else "is more than"
    share = "fewer than 0.1 %" if p_value < 0.001 else as_percent(p_value)
    return (
        f"{text}That {verdict} chance: without a true difference, so large a one comes in {share} "
        "of such backtests."
    )


def _coverage(facts: TargetFacts) -> str:
    row: Any = facts.comparison.loc[facts.name]
    off = row["coverage"] - facts.requested
    by_origin: Any = summary(facts.main, "origin")["coverage"]
    verdict = "too narrow" if off < 0 else "wider than needed"
    if abs(off) <= _CLOSE:
        verdict = "as promised"
    elif not abs(off) > 2 * by_origin.sem():  # truths of one origin fail together
        verdict += ", but by no more than chance may bring"
    return (
        f"The range that is to hold {as_percent(facts.requested)} of the truth held "
        f"{as_percent(row['coverage'])}: it is {verdict}. It is {facts.with_unit(row['width'])} "
        "wide on average."
    )
