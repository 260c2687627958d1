"""What the examples share: the command line, the rivals, the table and the picture."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
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
    """Give the file of a picture: `output` if it names a picture, else `name` in that folder."""
    is_picture = (
        output.suffix.lower() in {".png", ".pdf", ".svg"} and not output.is_dir()
    )
    path = (output if is_picture else output / name).resolve()
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
    return str(
        path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    )


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
    hour, day = known.index.hour, known.index.day_of_week
    values = known.to_numpy()[:, :, None] * np.eye(24)[hour][:, None]
    return np.hstack([np.eye(168)[24 * day + hour], values.reshape(len(known), -1)])


class BoostedLags(RegressorMixin, BaseEstimator):
    """Boost trees of each target on its lags, none under a day, the clock and what is known."""

    _LAGS = (24, 25, 48, 72, 96, 120, 144, 167, 168, 169, 336, 504, 672)

    def __init__(self, known_future: Sequence[str] = ()) -> None:
        self.known_future = known_future

    def fit(self, X: pd.DataFrame, y: pd.DataFrame) -> "BoostedLags":
        """Fit trees of their own to each target, y's columns."""
        windows = ((SlidingWindow(seq_len=1, lag=lag), list(y)) for lag in self._LAGS)
        ahead = FunctionTransformer(clock), list(self.known_future)
        self.features_ = make_column_transformer(*windows, ahead).fit(X)
        trees = HistGradientBoostingRegressor(
            loss="absolute_error",
            learning_rate=0.05,
            max_iter=300,
            max_features=0.3,
            early_stopping=False,
            random_state=0,
        )
        each = zip(self._features(X, y.shape[1]), y.to_numpy().T, strict=True)
        fits = (delayed(fit_by_one_thread)(clone(trees), *pair) for pair in each)
        self.models_ = Parallel(n_jobs=-1, prefer="threads")(fits)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Forecast each row, all targets."""
        each = zip(self.models_, self._features(X, len(self.models_)), strict=True)
        return np.column_stack([model.predict(features) for model, features in each])

    def _features(self, X: pd.DataFrame, n_targets: int) -> Iterator[np.ndarray]:
        """Make the features of each target: its lags, and all that is known."""
        lags, ahead = np.split(
            self.features_.transform(X), [len(self._LAGS) * n_targets], axis=1
        )
        return (np.hstack([lags[:, j::n_targets], ahead]) for j in range(n_targets))


def one_thread() -> threadpool_limits:
    """Let work of this thread be done by it alone, within a `with` statement.

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
    """Put hour, weekday and day of the year beside what is known."""
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
    """Fit the rivals of a fitted Informer and forecast the test rows from rolling origins."""
    targets, pred_len = informer.target, informer.pred_len
    known_future = informer.known_future or ()
    results = {"InformerRegressor": backtest(informer, test, coverage=coverage)}
    by_series = {"level": 0} if train.index.nlevels > 1 else {"by": lambda _: 0}
    train = as_believed(informer, train)
    truth = train[targets]  # the ridge needs every value; Informers do not
    truth = truth.groupby(**by_series).ffill().groupby(**by_series).bfill()
    for name, rival in rivals.items():
        with one_thread():
            rival.fit(train, truth)
        results[name] = backtest(
            rival, test, test[targets], horizon=pred_len, known_future=known_future
        )
    return results


def as_believed(informer: InformerRegressor, train: pd.DataFrame) -> pd.DataFrame:
    """Give the training rows as the fit took them: typing errors in a target are missing.

    Rivals that learnt such values would lose by them, not by how they forecast.
    """
    timeline, targets, train = informer.timeline_, informer.target, train.sort_index()
    rows = np.arange(len(train))
    train[targets] = timeline.truths(rows, informer.scaler_, len(targets))
    return train


def error_table(
    results: Mapping[str, pd.DataFrame], by: str = "target"
) -> pd.DataFrame:
    """Tabulate the mean absolute error of each model, for every target or series and for all."""
    table, error = pd.DataFrame(index=list(results)), skip_missing(mean_absolute_error)
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
    panel = pd.factorize(rows["origin"])[0] * n_panels // n_origins
    bounds = [name for name in rows if name.startswith("q")]
    levels = [float(name[1:]) for name in bounds] or None
    figure, axes = plt.subplots(
        n_panels,
        squeeze=False,
        sharey=True,
        figsize=(10, 1 + 3 * n_panels),
        layout="constrained",
    )
    for i, ax in enumerate(axes[:, 0]):
        part = rows[panel == i]
        ForecastDisplay.from_predictions(
            part["actual"],
            part["forecast"],
            part[bounds] if bounds else None,
            levels=levels,
            name="InformerRegressor",
            ax=ax,
        )
        ax.set_ylabel(ylabel)
        if i:
            ax.get_legend().remove()
        if i < n_panels - 1:
            ax.set_xlabel("")
    axes[0, 0].set_title(title, loc="left")
    low, high = (
        rows[["actual", "forecast"]].min().min(),
        rows[["actual", "forecast"]].max().max(),
    )
    if 0 <= low < 0.2 * high:  # counts and their like start at zero
        axes[0, 0].set_ylim(bottom=0)
    return figure
