"""The checks of a release, in order: the first that fails ends it. `scripts/release` runs them."""
