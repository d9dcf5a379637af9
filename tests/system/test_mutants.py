"""Changes to the policy, the limits and the doom loops are noticed; `scripts/mutants` tries all of them."""

import os
import subprocess
import sys

from mutation.check import ROOT, TABLE, TESTS, all_mutants, reasons, table

SAMPLE = 6


def test_the_table_counts_the_changes_that_these_sources_have_and_none_of_them_survives():
    assert TABLE.read_text() == table([])


def test_what_cannot_be_noticed_is_still_a_change():
    excused = {(module, name) for module, changes in reasons().items() for name in changes}
    assert excused - {(mutant.module, mutant.name) for mutant in all_mutants()} == set()


def test_tests_notice_a_sample_of_changes_and_pass_without_one():
    # In a process of its own: it unloads what it has loaded, and forks.
    command = [sys.executable, "-m", "mutation", "--sample", str(SAMPLE)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == (f"{SAMPLE} of {SAMPLE} are noticed\n", 0), done.stderr
