"""Ledgers: charges that last, in a file or on a server (zone: boundary)."""
