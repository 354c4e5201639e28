"""Matrix rooms: a homeserver spoken to through nio, end-to-end encryption included."""
