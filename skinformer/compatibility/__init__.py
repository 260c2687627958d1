"""What differs between versions of pandas and scikit-learn; all else runs with every version.

`dates`: days and time zones; `labels`: the dtype of an index; `callbacks`: scikit-learn's, or none.
"""
