"""Killed with SIGKILL between every two steps of what Slack sends in and what is posted to it."""
