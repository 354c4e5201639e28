"""Files of messages, kept in the state folder."""
