"""Tests of the worker, its alarms and its control socket."""
