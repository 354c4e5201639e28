"""What the application needs from outside, as small Protocols with their value types."""
