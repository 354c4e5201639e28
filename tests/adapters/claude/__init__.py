"""Tests of the model adapter."""
