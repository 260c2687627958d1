"""Public holidays of Auckland at each hour of three years."""

import pandas as pd

from skinformer.datasets.auckland_pedestrians import read_hours


def load_auckland_holidays() -> pd.DataFrame:
    """
    Load future covariates of each hour in Auckland: public holidays and days around them.

    The columns can be named in `known_future`: join them to the counts, or to rows of the hours to
    come, by the index.

    Returns
    -------
    DataFrame of shape (26304, 6)
        One row an hour, from 2023-01-01 00:00 to 2025-12-31 23:00 local time; whole numbers. The
        index is like that of `load_auckland_pedestrians`, and a year longer.

    See Also
    --------
    load_auckland_pedestrians : Counts of people on these days.
    skinformer.CalendarFeatures : Holidays of any country, at any time.

    Notes
    -----
    ======================== =====================================================
    ``holiday``              1 on a public holiday. One that falls on a weekend is
                             the weekday on which it is observed.
    ``shops_closed``         1 when shops have to be: Good Friday, Easter Sunday,
                             Christmas Day, and Anzac Day until 13:00
    ``free_yesterday``       1 if the day before is a Saturday, Sunday or holiday
    ``free_tomorrow``        1 if the day after is
    ``days_to_christmas``    days until 25 December, 28 if more
    ``days_since_christmas`` days since 25 December, 28 if more
    ======================== =====================================================

    References
    ----------
    .. [1] Holidays Act 2003, New Zealand, sections 44 to 45A.
    .. [2] Te Kāhui o Matariki Public Holiday Act 2022, schedule 1.
    .. [3] Shop Trading Hours Act 1990, section 3.

    Examples
    --------
    >>> from skinformer.datasets import load_auckland_holidays
    >>> holidays = load_auckland_holidays()
    >>> noon = holidays[holidays.index.hour == 12]
    >>> noon.loc["2024-12-24":"2024-12-27", ["holiday", "shops_closed", "free_tomorrow"]]
                               holiday  shops_closed  free_tomorrow
    timestamp
    2024-12-24 12:00:00+13:00        0             0              1
    2024-12-25 12:00:00+13:00        1             1              1
    2024-12-26 12:00:00+13:00        1             0              0
    2024-12-27 12:00:00+13:00        0             0              1
    """
    return read_hours("auckland_holidays.csv.gz")
