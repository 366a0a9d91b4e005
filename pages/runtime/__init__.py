"""Caches, the queue of passes, background jobs, workarounds for Streamlit."""
