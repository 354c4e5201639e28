"""The tool server that runs inside a sandbox: standard library only, nothing of the bot."""
