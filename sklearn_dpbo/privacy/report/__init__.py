"""Reports of what was released (zone: released)."""
