"""One database of each release, and how they are made and used."""
