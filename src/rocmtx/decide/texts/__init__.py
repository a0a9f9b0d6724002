"""Error texts and what they mean, one file a kind: a pattern with its explanation, listed in the RULES of its file."""
