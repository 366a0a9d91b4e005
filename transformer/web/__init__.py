"""The model for a browser: graphs exported from `transformer.model`, and a site of static files."""
