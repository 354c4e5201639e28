"""What a tool call may do: command lines read as shell, rules over them, and the verdict. Pure."""
