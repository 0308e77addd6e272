import unittest

from prices import total


class Prices(unittest.TestCase):
    def test_small(self):
        self.assertEqual(total(["1.20", "0.40"]), 160)

    def test_thousands(self):
        self.assertEqual(total(["1,249.00", "0.40"]), 124940)
