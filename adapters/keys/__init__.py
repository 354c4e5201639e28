"""The secret key, and what is sealed under it: the only package that knows a cipher."""
