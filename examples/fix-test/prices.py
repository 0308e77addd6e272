"""Prices in cents, with and without tax."""

TAX = 19


def with_tax(cents):
    """The price with tax, rounded to a whole cent."""
    return cents + cents * TAX // 100


def total(items):
    """The sum of a list of (count, cents)."""
    return sum(cents for count, cents in items)
