"""Tests of log lines, metrics and health."""
