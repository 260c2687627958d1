"""Forecasts that are worse than those that need no learning."""

from __future__ import annotations

from skinformer.validation.warning import warn_user

__all__ = ["warn_of_better_naive"]

#: Seasons that rows have to hold before a longer look-back is advised.
_SEASONS = 4


def warn_of_better_naive(excess: float, season: int, *, seq_len: int, n_rows: int) -> None:
    """Warn that repeating a season, or the last value, forecasts the validation rows better."""
    naive = "the last value" if season == 1 else f"what came {season} rows before"
    advice = "Pass more rows, columns that are known ahead (known_future), or a longer seq_len"
    if seq_len < season <= n_rows // _SEASONS:
        advice = f"seq_len={seq_len} does not reach back so far: pass seq_len={season} or more"
    warn_user(
        f"the validation rows are forecast with {excess:.0%} more mean absolute error than by "
        f"repeating {naive}. {advice}; compare by backtest, and keep SeasonalNaive(season={season})"
        " if it stays ahead."
    )
