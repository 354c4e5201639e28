"""
The tool server that runs inside a sandbox: standard library only, nothing of the bot.

Values are named tuples here: to import `dataclasses` would cost a third of the server's start.
"""
