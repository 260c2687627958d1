"""Parameters of estimators among the members: ``members__ridge__alpha`` in a search."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from skinformer.validation import parameters as checks


def nested_in_members(members: Any) -> dict[str, Any]:
    """
    Return the parameters of estimators among members, by names such as ``members__ridge__alpha``.

    Parameters
    ----------
    members : str, list or tuple
        The estimator's parameter.

    Returns
    -------
    dict
        Values by name; an estimator goes by its class in lower case, as in ``make_pipeline``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> nested_in_members(["ridges", Ridge(alpha=2.0)])["members__ridge__alpha"]
    2.0
    """
    nested = {}
    for name, value in _pipeline_of(members).get_params().items():
        if "__" in name:
            nested[f"members__{name}"] = value
    return nested


def open_members(members: Any, params: dict[str, Any]) -> dict[str, Any]:
    """
    Put parameters of estimators among members into new members.

    Parameters
    ----------
    members : str, list or tuple
        The estimator's parameter, where `params` holds no other.
    params : dict
        As for `set_params`.

    Returns
    -------
    dict
        The same, with `members` in place of names such as ``members__ridge__alpha``.

    Raises
    ------
    ValueError
        If no member has such a name.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> open_members(["ridges", Ridge()], {"members__ridge__alpha": 2.0})
    {'members': ['ridges', Ridge(alpha=2.0)]}
    """
    names = [name for name in params if name.startswith("members__")]
    if not names:
        return params
    opened = dict(params)
    members = opened.get("members", members)
    copies = clone(_pipeline_of(members))
    for name in names:
        _, step, *inner = name.split("__", 2)
        if step not in copies.named_steps or not inner:
            checks.raise_no_nested_member(name, members)
        copies.set_params(**{f"{step}__{inner[0]}": opened.pop(name)})
    opened["members"] = _replace_estimators(members, copies)
    return opened


def _replace_estimators(members: Any, copies: Pipeline) -> Any:
    """Put estimators in the places of those among members, a list or tuple."""
    replaced = list(members)
    places = [i for i, member in enumerate(members) if _has_params(member)]
    for i, copy in zip(places, copies.named_steps.values(), strict=True):
        replaced[i] = copy
    return type(members)(replaced)


def _pipeline_of(members: Any) -> Pipeline:
    """Put estimators among members in a pipeline, which names them and their parameters.

    >>> from sklearn.linear_model import Lasso, Ridge
    >>> list(_pipeline_of(["ridges", Ridge(), Lasso(), Ridge()]).named_steps)
    ['ridge-1', 'lasso', 'ridge-2']
    """
    several = members if isinstance(members, list | tuple) else []
    return make_pipeline(*filter(_has_params, several))


def _has_params(member: Any) -> bool:
    return hasattr(member, "get_params") and not isinstance(member, type)
