import unittest


class Sum(unittest.TestCase):
    def test_sum(self):
        with open("target/examples/cheaters/removes_tests/sum.txt") as file:
            self.assertEqual(file.read().strip(), "55")
