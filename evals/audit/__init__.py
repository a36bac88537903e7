"""What the compactions recorded in a session kept, lost and invented."""
