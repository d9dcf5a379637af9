"""Static analysis of bash command lines: the programs they would run and the files they would write."""
