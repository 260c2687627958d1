"""What is asked of the network alone: its attention, and its spread under dropout."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NoReturn

from skinformer.validation.warning import warn_user

__all__ = [
    "check_any_dropout",
    "check_attention_maps",
    "check_drawn_axes",
    "check_drawn_head",
    "check_network_speaks",
    "drawn_map",
    "raise_no_network",
    "raise_no_samples",
    "warn_of_silent_network",
]


def raise_no_network(estimator: Any) -> NoReturn:
    """Raise because an estimator has no attention."""
    raise TypeError(
        f"{type(estimator).__name__} has no attention to show. Pass a fitted InformerRegressor or "
        "InformerClassifier, or a Pipeline or search that ends in one."
    )


def raise_no_samples(estimator: Any) -> NoReturn:
    """Raise because only the forecasts of numbers of this package's network are drawn again."""
    raise TypeError(
        f"{type(estimator).__name__} gives no samples by dropout: they are forecasts of numbers by "
        "a network. Pass a fitted InformerRegressor, or a Pipeline or search that ends in one."
    )


def warn_of_silent_network(n_silent: int, n: int, *, spread: bool) -> None:
    """Warn that forecasts do not use the network, whose attention is shown."""
    but = " but for how far quantiles lie apart" if spread else ""
    warn_user(
        f"the network has no share in {n_silent} of {n} forecasts{but}: others make them, and its "
        "attention explains nothing of them. trust_ tells how far a fit trusts it; with base=None "
        "it forecasts alone."
    )


def check_any_dropout(dropout: float) -> None:
    """Raise if a network drops nothing."""
    if not dropout:
        raise ValueError(
            "the network was fitted with dropout=0 and drops nothing: all samples would be the "
            "forecast. Fit with dropout above 0, such as 0.2; predict_interval tells how far "
            "forecasts of any fit are off."
        )


def check_network_speaks(speaks: bool, trust: float) -> None:
    """Raise if nothing of the network is in forecasts whose spread is asked for."""
    if not speaks:
        raise ValueError(
            f"the network has no share in these forecasts (trust_={trust:.3g}): all samples would "
            "be the forecast. predict_interval tells how far it is off; with base=None the network "
            "forecasts alone."
        )


def check_attention_maps(maps: Sequence[Any], kind: type) -> None:
    """Raise if something else than maps is given, or none."""
    others = [each for each in maps if not isinstance(each, kind)]
    if others or not maps:
        what = f"hold a {type(others[0]).__name__}" if others else "are empty"
        raise ValueError(
            f"maps {what}: pass what attention_maps gives, or some of these, such as "
            "[m for m in maps if m.where == 'encoder']."
        )


def drawn_map(maps: Sequence[Any], where: str, layer: int, origin: Any) -> Any:
    """Give the map of a layer, of the first origin for None; raise if there is none."""
    there = [each for each in maps if (each.where, each.layer) == (where, layer)]
    if not there:
        known = list(dict.fromkeys((each.where, each.layer) for each in maps))
        raise ValueError(
            f"where={where!r}, layer={layer!r} is none of the maps; they are of {known}."
        )
    if len({each.series for each in there}) > 1:
        raise ValueError(
            f"maps hold {len({each.series for each in there})} series: one is drawn. Pass "
            f"[m for m in maps if m.series == {there[0].series!r}]."
        )
    found = [each for each in there if origin is None or each.origin == origin]
    if not found:
        raise ValueError(
            f"origin={origin!r} is none of the maps; they begin at {there[0].origin} to "
            f"{there[-1].origin}."
        )
    return found[0]


def check_drawn_head(head: Any, n_heads: int) -> None:
    """Raise if a head is none of a layer's."""
    whole = type(head) is not bool and isinstance(head, Integral)
    if head is not None and not (whole and 1 <= head <= n_heads):
        raise ValueError(
            f"head={head!r} must be one of 1 to {n_heads}, or None for all heads beside one "
            "another."
        )


def check_drawn_axes(n_given: int, n_heads: int) -> None:
    """Raise if there are not as many axes as heads to draw."""
    if n_given != n_heads:
        raise ValueError(
            f"ax holds {n_given} axes for {n_heads} heads. Pass one for each, or head=1 for one "
            "alone."
        )
