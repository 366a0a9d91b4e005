"""The Streamlit app: one folder a page, and what pages share."""
