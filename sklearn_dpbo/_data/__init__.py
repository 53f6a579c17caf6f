"""What is trained on, what is protected, and tables of any kind by row (zone: public)."""
