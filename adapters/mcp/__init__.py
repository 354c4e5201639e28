"""Servers of tools that speak the Model Context Protocol, by the `mcp` package."""
