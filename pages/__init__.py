"""The Streamlit app: one folder per page, and what pages share."""
