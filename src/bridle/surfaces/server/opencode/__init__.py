"""OpenCode's server API on Bridle's record, for OpenCode's terminal application, its page and its SDKs."""
