"""Parameters of an estimator named without the part that they stand in, as tests vary them."""

from typing import Any

from sklearn.base import clone

from skinformer.estimators.parts import PARTS


def with_parts(**flat: Any) -> dict[str, Any]:
    """Return keywords of an estimator, those of the network and its training put into parts.

    >>> with_parts(seq_len=4, d_model=8, max_iter=1)
    {'seq_len': 4, 'network': Network(d_model=8), 'training': Training(max_iter=1)}
    """
    keywords: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        part = part_of(name)
        if part:
            inner.setdefault(part, {})[name] = value
        else:
            keywords[name] = value
    for part, values in inner.items():
        given = keywords.get(part) or PARTS[part]()
        keywords[part] = clone(given).set_params(**values)
    return keywords


def flat_values(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return keywords of an estimator with the parameters of parts in the places of the parts.

    >>> flat_values({"seq_len": 4, "training": PARTS["training"]()})["batch_size"]
    64
    """
    flat = {name: value for name, value in keywords.items() if name not in PARTS}
    for part in PARTS:
        if part in keywords:
            flat |= keywords[part].get_params(deep=False)
    return flat


def set_flat(model: Any, **flat: Any) -> Any:
    """Set parameters of an estimator, named without their parts, and return it."""
    return model.set_params(**{full_name(name): value for name, value in flat.items()})


def full_name(name: str) -> str:
    """Return a parameter's name in searches: ``network__d_model`` for ``d_model``."""
    part = part_of(name)
    return f"{part}__{name}" if part else name


def part_of(name: str) -> str:
    """Return the part that has a parameter; empty for one of the estimator."""
    for part, kind in PARTS.items():
        if hasattr(kind, name.partition("__")[0]):
            return part
    return ""
