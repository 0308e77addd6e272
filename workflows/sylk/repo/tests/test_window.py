import unittest

from limiter import Limiter


class Window(unittest.TestCase):
    def test_a_minute_later_a_request_passes_again(self):
        limiter = Limiter(1)
        self.assertTrue(limiter.allow(0))
        self.assertTrue(limiter.allow(60))


if __name__ == "__main__":
    unittest.main()
