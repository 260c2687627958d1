"""What the examples share: the command line, the rivals, the table and the picture."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from skinformer import InformerRegressor, SlidingWindow
from skinformer.display import ForecastDisplay
from skinformer.evaluation import SeasonalNaive, backtest, skip_missing

OUTPUT = Path(__file__).resolve().parent / "output"  # git ignores it


def picture_path(output: Path, name: str) -> Path:
    """Return the file of a picture: `output` if it names a picture, else `name` in that folder."""
    is_picture = output.suffix.lower() in {".png", ".pdf", ".svg"}
    path = output
    if output.is_dir() or not is_picture:
        path = output / name
    path = path.resolve()
    try:  # now, not after the training
        path.parent.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise OSError(
            f"--output {output}: cannot be written: {error.strerror}."
        ) from None
    return path


def arguments(description: str, name: str) -> argparse.Namespace:
    """Read the command line of an example that saves one picture, called `name` by default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="folder or file of the picture"
    )
    parser.add_argument("--epochs", type=int, help="of training, at most")
    args = parser.parse_args()
    try:
        args.picture = picture_path(args.output, name)
    except OSError as error:
        parser.error(str(error))
    return args


def shown(path: Path) -> str:
    """Name a file from where the reader stands, if it lies below."""
    here = Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    return str(path)


def make_rivals(
    targets: list[str],
    *,
    seq_len: int,
    pred_len: int,
    season: int | None,
    known_future: Sequence[str] = (),
) -> dict[str, object]:
    """Make the forecasters that a deep model must beat; `season` counts the rows of a week."""
    rivals = {"last value": SeasonalNaive(season=1, target=targets)}
    if season is not None:
        rivals["weekly seasonal naive"] = SeasonalNaive(season=season, target=targets)
    # lag=pred_len: at the origin the last row of the block can see no row after the origin.
    lags = SlidingWindow(seq_len=seq_len, lag=pred_len)
    if known_future:
        lags = make_column_transformer(
            (lags, targets), (FunctionTransformer(by_hour), list(known_future))
        )
    rivals["ridge on lags"] = make_pipeline(
        lags,
        StandardScaler(),
        SimpleImputer(keep_empty_features=True),
        Ridge(alpha=1000.0),
    )
    if known_future:
        rivals["boosting on lags"] = BoostedLags(known_future)
    return rivals


def by_hour(known: pd.DataFrame) -> np.ndarray:
    """Make columns for a ridge: each hour of the week, and each known column at each hour."""
    hour = known.index.hour
    hour_of_week = 24 * known.index.day_of_week + hour
    is_hour = np.eye(24)[hour]
    at_each_hour = known.to_numpy()[:, :, None] * is_hour[:, None]
    return np.hstack([np.eye(168)[hour_of_week], at_each_hour.reshape(len(known), -1)])


class BoostedLags(RegressorMixin, BaseEstimator):
    """Boost trees of each target on its lags, none under a day, the clock and what is known."""

    _LAGS = (24, 25, 48, 72, 96, 120, 144, 167, 168, 169, 336, 504, 672)

    def __init__(self, known_future: Sequence[str] = ()) -> None:
        self.known_future = known_future

    def fit(self, X: pd.DataFrame, y: pd.DataFrame) -> "BoostedLags":
        """Fit trees of their own to each target, y's columns."""
        lags = [(SlidingWindow(seq_len=1, lag=lag), list(y)) for lag in self._LAGS]
        ahead = (FunctionTransformer(clock), list(self.known_future))
        self.features_ = make_column_transformer(*lags, ahead).fit(X)
        trees = HistGradientBoostingRegressor(
            loss="absolute_error",
            learning_rate=0.05,
            max_iter=300,
            max_features=0.3,
            early_stopping=False,
            random_state=0,
        )
        fits = []
        for features, target in zip(self._features(X, y.shape[1]), y, strict=True):
            fits.append(delayed(fit_by_one_thread)(clone(trees), features, y[target]))
        self.models_ = Parallel(n_jobs=-1, prefer="threads")(fits)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Forecast each row, all targets."""
        forecasts = []
        n_targets = len(self.models_)
        for model, features in zip(
            self.models_, self._features(X, n_targets), strict=True
        ):
            forecasts.append(model.predict(features))
        return np.column_stack(forecasts)

    def _features(self, X: pd.DataFrame, n_targets: int) -> list[np.ndarray]:
        """Make the features of each target: its lags, and all that is known."""
        made = self.features_.transform(X)
        n_lags = len(self._LAGS) * n_targets  # lag by lag, of all targets
        ahead = made[:, n_lags:]
        features = []
        for j in range(n_targets):
            own_lags = made[:, j:n_lags:n_targets]
            features.append(np.hstack([own_lags, ahead]))
        return features


def one_thread() -> threadpool_limits:
    """Limit this thread to itself within a `with` statement.

    Threads that share the work wait for each other: where another process is busy, too, boosted
    trees by two threads took a hundred times as long as by one.
    """
    return threadpool_limits(1)


def fit_by_one_thread(
    model: HistGradientBoostingRegressor, X: np.ndarray, y: np.ndarray
) -> HistGradientBoostingRegressor:
    """Fit a model beside others, each of which has one thread."""
    with one_thread():
        return model.fit(X, y)


def clock(known: pd.DataFrame) -> pd.DataFrame:
    """Add hour, weekday and day of the year to what is known."""
    index = known.index
    return known.assign(
        hour=index.hour, weekday=index.day_of_week, day=index.day_of_year
    )


def compare(
    informer: InformerRegressor,
    rivals: Mapping[str, object],
    train: pd.DataFrame,
    test: pd.DataFrame,
    *,
    coverage: float | None = None,
) -> dict[str, pd.DataFrame]:
    """Fit the rivals of a fitted Informer and forecast the test rows from rolling origins.

    The rivals see columns of numbers alone.
    """
    results = {"InformerRegressor": backtest(informer, test, coverage=coverage)}
    targets = informer.target
    train = as_believed(informer, train.select_dtypes("number"))
    test = test[list(train)]
    known = [name for name in informer.known_future or () if name in train]
    y_train = fill_gaps(train[targets])
    for name, rival in rivals.items():
        with one_thread():
            rival.fit(train, y_train)
        results[name] = backtest(
            rival, test, test[targets], horizon=informer.pred_len, known_future=known
        )
    return results


def fill_gaps(y: pd.DataFrame) -> pd.DataFrame:
    """Fill missing values by the last one before, else by the next: a ridge needs every value."""
    if y.index.nlevels == 1:
        return y.ffill().bfill()
    return y.groupby(level=0).ffill().groupby(level=0).bfill()


def as_believed(informer: InformerRegressor, train: pd.DataFrame) -> pd.DataFrame:
    """Return the training rows as the fit took them: typing errors in a target are missing.

    Rivals that learnt such values would lose by them, not by how they forecast.
    """
    train = train.sort_index()
    targets = informer.target
    rows = np.arange(len(train))
    train[targets] = informer.timeline_.truths(rows, informer.scaler_, len(targets))
    return train


def error_table(
    results: Mapping[str, pd.DataFrame], by: str = "target"
) -> pd.DataFrame:
    """Tabulate the mean absolute error of each model, for every target or series and for all."""
    error = skip_missing(mean_absolute_error)
    table = pd.DataFrame(index=list(results))
    for name, result in results.items():
        for part, rows in result.groupby(by, sort=False):
            table.loc[name, part] = error(rows["actual"], rows["forecast"])
        table.loc[name, "all"] = error(result["actual"], result["forecast"])
    return table


def save_picture(result: pd.DataFrame, path: str | Path, **options: str) -> None:
    """Draw the forecasts of one target into a file."""
    figure = draw_picture(result, **options)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_picture(
    result: pd.DataFrame, *, target: str, title: str, ylabel: str
) -> Figure:
    """Draw the forecasts of one target against the actual values, 14 origins to a panel."""
    rows = result[result["target"] == target].set_index("time")
    n_origins = rows["origin"].nunique()
    n_panels = min(3, -(-n_origins // 14))
    origin, _ = pd.factorize(rows["origin"])
    panel = origin * n_panels // n_origins
    figure, axes = plt.subplots(
        n_panels,
        squeeze=False,
        sharey=True,
        figsize=(10, 1 + 3 * n_panels),
        layout="constrained",
    )
    for i, ax in enumerate(axes[:, 0]):
        draw_panel(rows[panel == i], ax)
        ax.set_ylabel(ylabel)
        if i:
            ax.get_legend().remove()
        if i < n_panels - 1:
            ax.set_xlabel("")
    axes[0, 0].set_title(title, loc="left")
    values = rows[["actual", "forecast"]]
    low = values.min(axis=None)
    high = values.max(axis=None)
    if 0 <= low < 0.2 * high:  # counts and their like start at zero
        axes[0, 0].set_ylim(bottom=0)
    return figure


def draw_panel(rows: pd.DataFrame, ax: Axes) -> None:
    """Draw forecasts, within their interval where they have one."""
    bounds = [name for name in rows if name.startswith("q")]
    levels = [float(name[1:]) for name in bounds]
    ForecastDisplay.from_predictions(
        rows["actual"],
        rows["forecast"],
        rows[bounds] if bounds else None,
        levels=levels or None,
        name="InformerRegressor",
        ax=ax,
    )
