"""Slack: an app in one workspace or in many, over a socket or over HTTP."""
