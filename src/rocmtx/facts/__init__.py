"""Reading: /sys, /proc, package metadata and model files to `Facts`. Judges nothing."""
