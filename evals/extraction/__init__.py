"""What a text names: references, quotes, files, instructions."""
