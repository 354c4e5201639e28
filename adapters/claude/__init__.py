"""Claude over the Messages API: the only package that speaks it."""
