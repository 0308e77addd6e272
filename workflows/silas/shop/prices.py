"""What somebody owes, in cents."""


def total(items):
    return sum(count * cents for count, cents in items)


def with_tax(cents, percent):
    return cents + cents * percent // 100
