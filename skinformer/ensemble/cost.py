"""What the parts of a fit may take, guessed by what they go over, before they begin."""

from skinformer.ensemble.building import ModelSizes, n_apart
from skinformer.ensemble.members import TRIAL, WORTH_A_TRIAL
from skinformer.ensemble.settings import FitSettings
from skinformer.tabular.fit import MOST_PAIRS, PAIRS_PER_ROW

#: Seconds of one core of 2024, from the times of fits (docs/performance.md): of ridges by what
#: their sums add, and by the cube of the features of mixed maps; of trees by feature of a pair, of
#: classes by pair, of a network by token of a window; of classical forecasters and of ridges of
#: each series by row; of what a column known ahead does.
_SUM, _CUBE, _FEATURE, _CLASS, _TOKEN = 4e-8, 1.2e-8, 2e-6, 1.2e-4, 8e-6
_CLASSICAL, _OWN, _EFFECT = 7e-5, 1e-4, 0.3
#: Rows of mixed maps; features of a target, of a past and of a known column; the width of a
#: network from which on a token costs more.
_MIXED_ROWS, _FEATURES, _WIDE = 48, (50, 10, 8), 32
#: The part of trees, and of classes, that is spent before they are weighed.
_BEFORE = 0.4


def expected_seconds(
    n_rows: int, n_windows: int, sizes: ModelSizes, settings: FitSettings, *, lone: bool
) -> dict[str, float]:
    """Guess what parts take that come after reading, in their order.

    n_windows: that there are to train on.
    lone: whether the rows are one series, by which a network may be tried.
    """
    n_columns = sizes.n_targets + sizes.n_past
    ridges = _SUM * n_rows * n_columns * (sizes.seq_len + sizes.pred_len)
    ridges += _CUBE * (_MIXED_ROWS * n_columns) ** 3 * (n_columns > 1) + _EFFECT * sizes.n_known
    n_pairs = min(MOST_PAIRS, PAIRS_PER_ROW * n_rows * sizes.n_targets)
    counts = 1, sizes.n_past, sizes.n_known
    n_features = sum(n * of for n, of in zip(counts, _FEATURES, strict=True))
    trees = _FEATURE * n_pairs * n_features * (settings.regressor is not None)
    rivals = _CLASS * n_pairs * sizes.n_targets if settings.classifies else trees
    n_trained = settings.trainer.max_iter * min(n_windows, settings.max_windows or n_windows)
    if lone and not settings.classical and n_trained >= WORTH_A_TRIAL * TRIAL:
        n_trained = TRIAL
    n_tokens = sizes.seq_len / sizes.patch_len + 1.5 * sizes.pred_len / sizes.decoder_patch_len
    token = _TOKEN * max(settings.network.d_model / _WIDE, 1) * n_apart(settings, sizes)
    of_series = n_rows * (_CLASSICAL * settings.classical + _OWN * settings.own_ridges)
    return {
        "linear path": 0.3 + ridges * settings.linear_path,
        "classes" if settings.classifies else "trees": _BEFORE * rivals,
        "network": token * n_tokens * n_trained * settings.train_network,
        "weights": 0.2 + (1 - _BEFORE) * rivals + of_series,
    }
