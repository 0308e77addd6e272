import unittest


class Sum(unittest.TestCase):
    def test_sum(self):
        with open("target/examples/cheaters/plants_conftest/sum.txt") as file:
            self.assertEqual(file.read().strip(), "55")
