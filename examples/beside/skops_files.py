"""skops: a fitted model in its file, and the types that you trust when you read it.

skops loads only listed types. Read the list once and pass it; do not pass whatever types the file
contains.
"""

# %%
import tempfile
from pathlib import Path

import numpy as np
import skops.io

from skinformer import InformerRegressor, Training
from skinformer.datasets import load_auckland_pedestrians

target = "45 Queen Street"
counts = load_auckland_pedestrians()[[target]][13000:14200]
model = InformerRegressor(
    target,
    seq_len=168,
    pred_len=24,
    members=["ridges", "network"],
    random_state=0,
    training=Training(max_iter=1, max_windows=300),
).fit(counts)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "street.skops")
    skops.io.dump(model, path)
    requested = skops.io.get_untrusted_types(file=path)
    print("to be trusted:", requested)
    loaded = skops.io.load(
        path,
        trusted=[
            "skinformer.estimators.regressor.InformerRegressor",
            "skinformer.estimators.parts.Training",
        ],
    )

assert np.array_equal(loaded.predict(counts), model.predict(counts))
print("the same forecasts")
