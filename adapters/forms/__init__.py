"""Forms in a browser, behind links that work once."""
