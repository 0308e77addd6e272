"""At most a number of requests in a minute."""


class Limiter:
    """Refuses requests beyond `limit` in any 60 seconds."""

    def __init__(self, limit):
        self.limit = limit
        self.seen = []

    def allow(self, now):
        """Tells if a request may pass at `now`, in seconds."""
        if len(self.seen) > self.limit:
            return False
        self.seen.append(now)
        return True
