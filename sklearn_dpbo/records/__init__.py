"""Training data, validation data, and the rows of tables of any kind (zone: public)."""
