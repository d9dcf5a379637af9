"""What holds for every test: asserts in tests/support tell as much as those in tests."""

import pytest

pytest.register_assert_rewrite("support")
