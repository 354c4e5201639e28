"""Tests of what stands outside."""
