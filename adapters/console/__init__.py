"""A room in a terminal, kept in one file."""
