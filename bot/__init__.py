"""The application: the pure core, the use cases and the composition root."""
