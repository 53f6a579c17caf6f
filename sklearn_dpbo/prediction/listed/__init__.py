"""What is trusted to predict row by row, and how the rest is called (zone: sensitive)."""
