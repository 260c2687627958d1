"""Every check of the user's input with its message.

Nothing else raises for what a user can get wrong; everything behind this border trusts its
input. A message names the value, what is required, why, and what to type instead. This package
is also the one home of scikit-learn's private imports.
"""
