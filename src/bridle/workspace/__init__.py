"""Access to the files of a project: paths, git folders, instructions, skills."""
