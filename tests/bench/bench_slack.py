"""Slack: from an event to its acknowledgement, and to the first status message of its goal."""
