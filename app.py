"""Headscope: the pages, and which of them a link opens."""

import streamlit as st

from pages.registry import pages

st.navigation([page.streamlit_page() for page in pages()], position="hidden").run()
