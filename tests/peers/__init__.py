"""Real peers that the tests speak to."""
