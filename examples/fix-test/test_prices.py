import unittest

import prices


class Prices(unittest.TestCase):
    def test_tax_is_rounded_to_the_nearest_cent(self):
        self.assertEqual(prices.with_tax(100), 119)
        self.assertEqual(prices.with_tax(105), 125)

    def test_a_total_counts_each_item(self):
        self.assertEqual(prices.total([(2, 150), (1, 99)]), 399)


if __name__ == "__main__":
    unittest.main()
