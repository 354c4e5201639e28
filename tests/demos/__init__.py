"""Demonstrations that run on the beds of the tests."""
