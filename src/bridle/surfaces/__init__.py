"""User interfaces: the command line, the terminal application and the HTML report."""
