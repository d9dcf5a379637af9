"""What a bash command would run and write, as far as that can be known without running it."""
