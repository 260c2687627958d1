"""Names of members: users choose them, weights and tables are labelled by them."""

#: Those that every fit with a base has.
RIDGES = "ridges"
NETWORK = "network"
#: Those that rows decide about. A regressor of the user's stands in place of trees.
CLASSICAL = "classical"
TREES = "trees"
