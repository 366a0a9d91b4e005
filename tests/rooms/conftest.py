"""A Redis server for the tests of rooms."""

from collections.abc import Iterator

import pytest

from tests.support.redis import running_redis


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_redis(tmp_path_factory.mktemp("redis")) as url:
        yield url
