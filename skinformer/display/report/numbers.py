"""Numbers as they are read: few digits, thousands apart, no zeros that say nothing."""

from __future__ import annotations

import math
from typing import Any

#: From here on numbers are written without fractions.
_WHOLE = 1000


def as_number(value: Any, digits: int = 3) -> str:
    """Write a number as people do, with so many digits if there are no more before the point.

    >>> as_number(0.012345), as_number(1234567.8), as_number(-3.0), as_number(float("nan"))
    ('0.0123', '1,234,568', '−3', '–')
    """
    value = float(value)
    if not math.isfinite(value):
        return "–"
    whole = _WHOLE <= abs(value) < 1e15
    text = f"{value:,.0f}" if whole else f"{value:.{digits}g}"
    return _signed(text)


def as_percent(share: Any, digits: int = 1) -> str:
    """Write a share in per cent, below 100 % with so many digits behind the point.

    >>> as_percent(0.1234), as_percent(2.5), as_percent(0.5)
    ('12.3 %', '250 %', '50 %')
    """
    value = 100 * float(share)
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.{0 if abs(value) >= 100 else digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{_signed(text)} %"


def _signed(text: str) -> str:
    return "0" if text in ("-0", "0") else text.replace("-", "−", 1)
