"""Programs on a terminal of their own, for tests of what people see."""

import os
import pty
import subprocess


class Terminal:
    """A program whose standard output and error are a terminal; what it writes there is in `seen`."""

    def __init__(self, command, **options):
        self.seen = ""
        self._own_end, other_end = pty.openpty()
        self._process = subprocess.Popen(command, stdin=other_end, stdout=other_end, stderr=other_end, **options)
        os.close(other_end)

    def wait_for(self, *texts):
        """Read until all texts have been seen; fail if the program ends before."""
        while not all(text in self.seen for text in texts):
            assert self._read(), self.seen

    def finish(self):
        """Read the rest and return the exit status."""
        while self._read():
            pass
        os.close(self._own_end)
        return self._process.wait(timeout=60)

    def _read(self):
        try:
            read = os.read(self._own_end, 65536)
        except OSError:  # the program has ended
            return False
        self.seen += read.decode(errors="replace")
        return bool(read)
