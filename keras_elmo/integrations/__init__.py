"""Bridges to other libraries, each behind an extra and imported by name alone."""
