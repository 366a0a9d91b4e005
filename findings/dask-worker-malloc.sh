#!/bin/sh
# A worker process of Dask has MALLOC_TRIM_THRESHOLD_=65536 in its environment, so the same work takes longer there than
# in a process of its own: memory that is freed goes back to the system at once, and every allocation faults it in again.
#
# With: distributed 2026.8.0, numpy 2.4.6, Python 3.11; Linux with glibc; tried on 2026-11-28.
#
# The variable is meant to keep the memory of workers small. Setting it also fixes glibc's mmap threshold at 128 KiB,
# which otherwise grows with what a program frees. Work that makes many arrays of 0.1 to 30 MB (a pass of a neural
# network) then spends its time in page faults: aligning sentences with torch took 37% more CPU time. Nothing logs it, and
# `env={"MALLOC_TRIM_THRESHOLD_": "..."}` only chooses another fixed threshold. Taking the name out of the setting
# distributed.nanny.pre-spawn-environ before the workers start helps.
#
# Seen: page faults of 300 sums of 1 MB arrays in a worker
#
#     default      77,124
#     without it      788
#
# Fails if the default has less than ten times as many.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet distributed==2026.8.0 numpy==2.4.6
cd "$folder"
cat >faults.py <<'PYTHON'
import resource

import dask
import numpy as np
from distributed import Client, LocalCluster


def work():
    numbers = np.ones(131_072)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(300):
        numbers = numbers + 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def faults(environment):
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": environment}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        return client.submit(work).result()


if __name__ == "__main__":
    usual = dict(dask.config.get("distributed.nanny.pre-spawn-environ"))
    without = faults({name: value for name, value in usual.items() if name != "MALLOC_TRIM_THRESHOLD_"})
    default = faults(usual)  # last, because it leaves the variable in this process, too
    print(f"default     {default:7,}\nwithout it  {without:7,}")
    assert default > 10 * without, "this finding is out of date"
PYTHON
"$folder/venv/bin/python" faults.py
