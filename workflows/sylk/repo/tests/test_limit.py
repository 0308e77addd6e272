import unittest

from limiter import Limiter


class Limit(unittest.TestCase):
    def test_the_third_of_two_is_refused(self):
        limiter = Limiter(2)
        self.assertEqual([limiter.allow(0) for _ in range(3)], [True, True, False])


if __name__ == "__main__":
    unittest.main()
