"""In-memory doubles of the ports."""
