"""The version, in one place: hatch, the labextension check and `rocmtx --version` read it here."""

__version__ = "0.1.0"
