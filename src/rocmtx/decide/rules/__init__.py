"""The doctor's rules, one file a kind. A rule is a function from facts to findings, listed in the RULES of its file."""
