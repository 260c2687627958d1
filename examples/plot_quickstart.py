"""
Forecast pedestrians in Auckland
================================

Trains an Informer on two years of hourly counts of eight streets and the city's holidays, forecasts
the last four weeks a day at a time, and compares it with four rivals. Takes about a minute on two
cores, and saves a picture under ``examples/output``, or where you say. It imports ``comparison.py``
from the folder beside it; run it in the repository::

    python examples/plot_quickstart.py [--output FOLDER]
"""

# %%
# One row an hour, one column a street. Of holidays it is known ahead when they come: columns that
# follow from the date alone. The last four weeks are kept for the test: no model sees them in
# training, and no setting below was chosen by them.

import sys

from comparison import arguments, compare, draw_picture, error_table, make_rivals, shown

from skinformer import InformerRegressor
from skinformer.datasets import auckland_holidays, load_auckland_pedestrians

DAY, WEEK = 24, 168
TEST_ROWS = 4 * WEEK
args = arguments("Forecast pedestrians in Auckland.", "quickstart.png")

counts = load_auckland_pedestrians()
holidays = auckland_holidays(counts.index)
streets, known = list(counts), list(holidays)
df = counts.join(holidays)
train, test = df[:-TEST_ROWS], df[-TEST_ROWS:]
print(f"{len(train)} hours to train on, {len(test)} to test on, {len(streets)} streets")

# %%
# Two weeks are seen and a day of all streets is forecast at once; all else is left at its default:
# ridges and boosted trees, which the Informer corrects as far as it proves itself. The table below
# counts absolute errors, so these are what it learns by.

informer = InformerRegressor(
    target=streets,
    known_future=known,
    seq_len=2 * WEEK,
    pred_len=DAY,
    loss="mae",
    max_iter=args.epochs,
    random_state=0,
    verbose=int(sys.stdout.isatty()),  # how far it is, in a terminal
)
informer.fit(train)

# %%
# Every model forecasts 28 days, each from the midnight before it and what was known then: ridge and
# boosting know the holidays, too.

rivals = make_rivals(streets, seq_len=WEEK, pred_len=DAY, season=WEEK, known_future=known)
results = compare(informer, rivals, train, test)
errors = error_table(results)["all"].rename("MAE").to_frame()
print("\nMean absolute error, pedestrians per hour and street, over the last four weeks:\n")
print(errors.round(1).to_string())

# %%
# One street. The last week is not like others: Christmas.

figure = draw_picture(
    results["InformerRegressor"],
    target="45 Queen Street",
    title="45 Queen Street: each day, forecast at the midnight before",
    ylabel="pedestrians per hour",
)
figure.savefig(args.picture, dpi=100)
print(f"Forecast against actual: {shown(args.picture)}")
