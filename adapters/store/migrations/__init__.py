"""The schema's revisions, applied when a store is opened."""
