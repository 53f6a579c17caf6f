"""The boundary: sensitive values, privacy losses, and the mechanisms (zone: boundary).

Only `mechanisms` opens a sensitive value, and only `noise` imports the noise library.
"""
