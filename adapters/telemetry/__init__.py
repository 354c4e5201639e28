"""What an operator sees of a running process: log lines, metrics, health. Imports nothing by itself."""
