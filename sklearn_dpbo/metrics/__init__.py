"""What is counted, how far a unit moves it, and numbers from noisy counts (zone: sensitive)."""
