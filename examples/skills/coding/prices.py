def total(prices):
    """The sum of prices that are written as text, in cents."""
    return sum(int(price.replace(".", "")) for price in prices)
