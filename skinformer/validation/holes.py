"""What is said of missing values in columns that are no targets."""

from collections.abc import Hashable, Mapping

from skinformer.validation.warning import warn_user


def warn_of_holes(shares: Mapping[Hashable, float]) -> None:
    """Warn, once a fit, which columns lack values, in which part of the rows."""
    lacking = [name for name, share in shares.items() if share < 1]
    empty = [name for name, share in shares.items() if share == 1]
    sentences = []
    if lacking:
        parts = ", ".join(f"{name!r} ({_percent(shares[name])})" for name in lacking)
        sentences.append(
            f"columns have missing values: {parts}. Each is filled by the last value "
            "before it in its series; fill them yourself if you know better values."
        )
    if empty:
        sentences.append(f"columns {empty} have no values, and no effect.")
    warn_user(" ".join(sentences))


def _percent(share: float) -> str:
    """Write a share, that is not zero, in percent."""
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
