"""What people say and what they are told, on any network."""
