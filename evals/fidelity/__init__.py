"""What became of needs, facts, instructions and files under a strategy; the oracle."""
