"""The agent's turn: its request, its loop over model and tools, its audit."""
