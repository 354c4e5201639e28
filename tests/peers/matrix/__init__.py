"""People on Matrix that are played by processes of their own."""
