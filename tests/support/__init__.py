"""What tests share: virtual time, stories, trees, forks of the command, oracles."""
