"""Acting: the worker process, the session that owns it, and the one door to torch and Transformers."""
