"""The Matrix adapter, against a real homeserver where it speaks to one."""
