"""Numbers with their nouns, as messages write them."""


def number_of(n: int, noun: str, plural: str = "") -> str:
    """
    Write how many there are of something, in the singular of one.

    >>> number_of(1, "row"), number_of(1200, "row"), number_of(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def first_of(n: int, what: str) -> str:
    """
    Write that what is named is the first of several; nothing where it is the only one.

    >>> first_of(1, "outliers"), first_of(3, "outliers")
    ('', ' (the first of 3 outliers)')
    """
    return "" if n == 1 else f" (the first of {n:,} {what})"
