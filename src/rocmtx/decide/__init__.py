"""Judging: facts and wishes to choices with reasons. Touches no file, clock, environment or torch."""
