"""Goals, journal and mail in SQLite or PostgreSQL."""
