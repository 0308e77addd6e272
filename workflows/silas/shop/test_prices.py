import unittest

from prices import total, with_tax


class Prices(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([(2, 150), (1, 99)]), 399)

    def test_half_a_cent_is_a_cent(self):
        self.assertEqual(with_tax(50, 7), 54)
