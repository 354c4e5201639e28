"""Tests of the rehearsed model."""
