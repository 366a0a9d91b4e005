"""What every test shares."""

import os

# One thread, said before torch is imported: the same sums in the same order everywhere, and a quiet machine.
os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import torch
from hypothesis import settings

from tests.support.whole_files import WholeFiles

collect_ignore = ["additions"]  # tests/repository/test_additions.py adds them to a copy
torch.set_num_threads(1)
# The same examples in every run and on every machine; nothing is timed and nothing is written.
settings.register_profile("headscope", derandomize=True, deadline=None, database=None)
settings.load_profile("headscope")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> WholeFiles | None:
    return WholeFiles(config, log) if config.getoption("dist") == "loadfile" else None
