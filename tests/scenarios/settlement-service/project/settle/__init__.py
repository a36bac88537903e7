"""Daily settlement of marketplace partners."""
