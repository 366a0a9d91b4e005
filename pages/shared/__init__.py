"""What the pages share: the only code, with app.py and the pages, that knows Streamlit."""
