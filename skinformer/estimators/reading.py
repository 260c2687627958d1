"""What the reader of rows is told: by the parameters before a fit, by the fitted state after it."""

from skinformer.estimators.parts import Network
from skinformer.estimators.settings import as_stopping
from skinformer.estimators.state import FittedState
from skinformer.reading.places import RowPlaces
from skinformer.reading.prediction import FittedRows
from skinformer.reading.training import ReadingSettings
from skinformer.validation.labels import IN_INDEX, Labels


def reading_settings(
    parameters: FittedState, labels: Labels = IN_INDEX, *, whole: bool = True
) -> ReadingSettings:
    """Collect what `fit` says of the rows.

    labels: where they held their labels.
    whole: whether nothing forecasts from less than `seq_len` rows.
    """
    known = parameters.known_future
    return ReadingSettings(
        target=parameters._target,
        known_future=(known,) if isinstance(known, str) else tuple(known or ()),
        freq=parameters.freq,
        may_miss="missing" in Network.of(parameters.network).embeddings,
        seq_len=parameters.seq_len,
        pred_len=parameters.pred_len,
        early_stopping=as_stopping(parameters.early_stopping),
        whole_windows=whole,
        labels=labels,
    )


def fitted_rows(state: FittedState) -> FittedRows:
    """Collect what later rows are read by, with the history as it is now."""
    history = state.timeline_
    return FittedRows(
        state.roles_,
        RowPlaces(
            history.clock,
            state.series_,
            int(history.end_step[0]),
            state._training_digest_,
        ),
        state.sizes_.may_miss,
        Labels(state.layout_.time, state.layout_.series),
    )
