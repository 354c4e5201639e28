"""The pure core: what a goal is, and every rule of its life. No clock, no ids, no IO."""
