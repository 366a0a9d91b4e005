"""Distribution of the tests to workers, file by file, which goes on after a worker has crashed."""

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class WholeFiles(LoadFileScheduling):
    """As `--dist loadfile`. After a crash, pytest-xdist 3.8 gives out again the files that were done, for which a
    worker waits without end, and the test that crashed, which crashes again; two crashes at once end the run."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Give the tests that a worker leaves behind to others; the one at which it crashed counts as failed."""
        work = self.assigned_work.pop(node)
        left = {file: [test for test, done in tests.items() if not done] for file, tests in work.items()}
        crashed = next((tests.pop(0) for tests in left.values() if tests), None)
        self.workqueue.update({file: dict.fromkeys(tests, False) for file, tests in left.items() if tests})
        if crashed is not None:
            for other in self.assigned_work:
                self._reschedule(other)
        return crashed

    def _reschedule(self, node: WorkerController) -> None:
        """Nothing for a worker that took the place of another and has not collected yet."""
        if node in self.registered_collections:
            super()._reschedule(node)
