"""What a long computation reports while it runs."""


class Reports(list[tuple[int, int]]):
    """A `progress` that keeps what it is told, as (done, total); with `most`, that report asks to stop."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self.most = most

    def __call__(self, done: int, total: int) -> bool:
        self.append((done, total))
        return len(self) != self.most
