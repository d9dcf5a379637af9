"""Who owns the processes that calls start."""
