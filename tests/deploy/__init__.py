"""The scripts of deploy/, started for real."""
