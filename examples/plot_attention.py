"""
What ProbSparse attention looks at
==================================

Trains an Informer without the other members of the ensemble, with the attention of the paper, and
plots the attention of each head to the past hours.
"""

# %%
# ProbSparse attention computes attention weights for a few queries only: those whose weights are
# concentrated on some hours. The output of all other queries is the mean of the values.

import matplotlib.pyplot as plt

from skinformer import Attention, InformerRegressor, Network, Training
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import AttentionDisplay

street = "45 Queen Street"
counts = load_auckland_pedestrians().loc["2024-10":"2024-11", [street]]
train, test = counts[:"2024-11-23"], counts["2024-11-24":]
model = InformerRegressor(
    street,
    members=["network"],
    network=Network(
        d_model=16,
        n_heads=4,
        patch_len=2,
        attention=Attention(encoder="probsparse", factor=3),
    ),
    training=Training(max_iter=8),
    random_state=0,
)
model.fit(train)

# %%
# The plot shows the four heads of the first layer of the encoder. Queries run from top to bottom
# and keys from left to right, both over the 96 hours before the forecast. Hatched queries are not
# selected.

AttentionDisplay.from_estimator(model, test[:24], where="encoder", layer=1)
plt.show()
