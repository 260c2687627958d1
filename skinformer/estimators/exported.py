"""What an estimator is elsewhere: a graph, for programs that know neither it nor torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from skinformer.estimators.state import FittedState
from skinformer.validation.arguments import check_fitted

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from skinformer.serving.signature import Signature


class ExportMixin(FittedState):
    """Graphs of a fitted estimator: windows in units in, forecasts in units out."""

    @property
    def signature_(self) -> Signature:
        """What an exported graph takes; `skinformer.serving.window_inputs` makes it of rows."""
        from skinformer.estimators.exporting import signature_of

        check_fitted(self)
        return signature_of(self)

    def export_program(self) -> ExportedProgram:
        """
        Trace the fitted model by `torch.export`: scaling, calendar, ridges and network in one.

        Returns
        -------
        torch.export.ExportedProgram
            Its first dimension, "batch", is any number of windows; its keyword arguments are named
            by `signature_`; it gives forecasts in the targets' units, and what to feed back, see
            `export_onnx`.

        Raises
        ------
        ValueError
            If the forecasts are not those of ridges and network alone.

        See Also
        --------
        export_onnx : The same in a file that onnxruntime reads.

        Examples
        --------
        >>> import numpy as np, pandas as pd, torch
        >>> from skinformer import InformerRegressor
        >>> from skinformer.serving import window_inputs
        >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
        >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
        >>> model = InformerRegressor("load", members=["network"], **sizes, random_state=0).fit(df)
        >>> inputs, labels = window_inputs(df, model.signature_)
        >>> tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        >>> forecast, _ = model.export_program().module()(**tensors)
        >>> np.allclose(forecast[0], model.forecast(), rtol=0, atol=1e-5)
        True
        """
        from skinformer.estimators.exporting import export_program

        check_fitted(self)
        return export_program(self)

    def export_onnx(self: Any, path: str | os.PathLike[str]) -> None:
        """
        Write the fitted model to an ONNX file, which forecasts without torch and scikit-learn.

        Parameters
        ----------
        path : str or path-like
            Target file; its folder must exist. It holds the old content or the new one.

        Raises
        ------
        ValueError
            If trees, a regressor of your own or classical forecasters have a share in the
            forecasts, which the file would silently lack; for quantiles of several levels, classes,
            and a transformer as `target_transform`.
        ImportError
            Without the packages of the extra "onnx".
        OSError
            If the file cannot be written.

        See Also
        --------
        skinformer.serving.window_inputs : The arrays that the graph takes, from rows.
        save : A file that this package reads, with everything in it.

        Notes
        -----
        Inputs, of which a graph has those that its model reads: "past" (batch, seq_len, n_columns)
        and "future" (batch, pred_len, n_known), float64, in units, NaN for missing; "series"
        (batch,); "time" and "instant" (batch, seq_len + pred_len), int64, in microseconds. Outputs:
        "forecast" (batch, pred_len, n_targets), float64, in the targets' units, and "fed_back",
        which stands for truths that are missing in a later window. The metadata hold the signature.
        Tracing takes ten to thirty seconds.
        """
        from skinformer.estimators.exporting import export_onnx

        check_fitted(self)
        export_onnx(self, path)
