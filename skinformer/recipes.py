"""Parameters of the Informer as in the paper, and of a modern transformer, for the estimators.

The defaults of the estimators are those with the lowest errors in benchmarks; recipes follow the
literature. A recipe sets every parameter of the network and of its training step, so that it does
not depend on the defaults. It does not set what belongs to the data and the machine: columns,
lengths, epochs, early stopping, memory, device and seed. `set_params` changes single values.

The recipes have no ridges and no patches, and do not normalise windows; set
``network__window_norm=True`` to compare. The papers do not fix depth, heads, width, dropout and
batch size; these are values of ours.
"""

from dataclasses import replace
from typing import Any

from skinformer.estimators.parts import Network, Training

__all__ = ["BF16", "BF16_CLASSES", "NOTE"]

#: The Informer (Zhou et al. 2021): pre-norm LayerNorm, GELU, weights from N(0, 0.02²), AdamW, MSE.
#: The calendar has three fields, also where "auto" would leave the month out for want of years; a
#: field that the data do not vary, such as the hour of days, is one more bias. The decoder's
#: self-attention is dense: masked ProbSparse is not causal in its choice of queries.
NOTE: dict[str, Any] = {
    "target_transform": None,
    "members": ["network"],
    "calendar": ["hour", "weekday", "month"],
    "loss": "mse",
    "network": Network(
        patch_len=1,
        embeddings=(),
        d_model=64,
        n_heads=4,
        n_encoder_layers=2,
        n_decoder_layers=1,
        d_ff=256,
        attention="probsparse",
        block="note",
        position="sinusoidal",
        distil=True,
        dropout=0.1,
        window_norm=False,
    ),
    "training": Training(
        optimizer="adamw",
        learning_rate=1e-3,
        weight_decay=0.01,
        batch_size=32,
        precision="auto",
    ),
}

#: A transformer in bfloat16: zero-centred RMSNorm, QK norm, output gate, SwiGLU, no biases,
#: Xavier with scaled residual outputs, Muon and AdamW, BF16 compute over float32 state. What it
#: does not name (calendar, position, distilling) is as in `NOTE`.
BF16: dict[str, Any] = {
    **NOTE,
    "network": replace(
        NOTE["network"], embeddings=("mask",), attention="dense", block="bf16"
    ),
    "training": replace(
        NOTE["training"],
        optimizer="muon",
        learning_rate=3e-4,
        weight_decay=0.1,
        precision="bf16",
    ),
}

#: The same for `InformerClassifier`: cross-entropy with z-loss (Chowdhery et al. 2023),
#: and label smoothing (Szegedy et al. 2016), which shares 0.1 among the other classes.
BF16_CLASSES: dict[str, Any] = {
    **BF16,
    "class_weight": None,
    "training": replace(BF16["training"], label_smoothing=0.1, z_loss=1e-4),
}
del BF16_CLASSES["target_transform"], BF16_CLASSES["loss"]
