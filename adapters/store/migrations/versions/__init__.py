"""One module a revision, numbered in order."""
