"""The Agent Client Protocol: editors drive Bridle's sessions over standard input and output."""
