"""Messages through a Slack that limits, repeats, cuts, loses answers and fails, at random."""
