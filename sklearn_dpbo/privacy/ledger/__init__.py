"""Ledgers, which store charges in a file or on a server (zone: boundary)."""
