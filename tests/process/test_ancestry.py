"""Finding the supervisor above a process while the processes between them end."""

import subprocess
import sys

SUPERVISOR = """
import ctypes, os, signal, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: orphans come here.
first = subprocess.Popen([sys.executable, sys.argv[1], str(os.getpid())], stdout=subprocess.PIPE)
for _ in range(60):
    process = int(first.stdout.readline())
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    time.sleep(0.002)  # Many looks between two ends.
print(first.stdout.read().decode())
"""
CHAIN = """
import os, signal, sys
from bridle.process.ancestry import bridle_ancestors
chain = []
for _ in range(60):
    chain.append(os.getpid())
    if os.fork():
        signal.pause()
print(*chain, sep="\\n", flush=True)
looks = [bool(bridle_ancestors())]
while os.getppid() != int(sys.argv[1]):
    looks.append(bool(bridle_ancestors()))
print("looks without a supervisor:", looks.count(False))
"""


def test_a_supervisor_is_found_while_the_processes_below_it_end(tmp_path):
    scripts = tmp_path / "bridle" / "process" / "supervise.py", tmp_path / "chain.py"
    scripts[0].parent.mkdir(parents=True)
    for path, text in zip(scripts, (SUPERVISOR, CHAIN), strict=True):
        path.write_text(text)
    done = subprocess.run([sys.executable, *scripts], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "looks without a supervisor: 0", done.stderr
