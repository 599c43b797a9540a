"""The version, alone in a file so that the build reads it without an import."""

__version__ = "0.1.0"
