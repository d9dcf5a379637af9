"""Changes to the policy, the limits and the doom loops are noticed; `scripts/mutants` tries all of them."""

from mutation.check import MODULES, TABLE, all_mutants, checked, originals, reasons, table

EACH = 25
"""Every so manyth change is tried here."""


def test_the_table_is_about_these_sources_and_nothing_survives():
    assert TABLE.read_text() == table([])


def test_what_cannot_be_noticed_is_still_a_change():
    names = {module: {mutant.name for mutant in all_mutants() if mutant.module == module} for module in MODULES}
    assert {module: set(changes) - names[module] for module, changes in reasons().items()} == {
        module: set() for module in reasons()
    }


def test_tests_notice_a_change_and_nothing_else():
    known = reasons()
    share = [mutant for mutant in all_mutants() if mutant.name not in known.get(mutant.module, {})][::EACH]
    found = {(mutant.module, mutant.name): noticed for mutant, noticed in checked([*originals(), *share], jobs=2)}
    assert found == {
        **{(mutant.module, mutant.name): False for mutant in originals()},
        **{(mutant.module, mutant.name): True for mutant in share},
    }
