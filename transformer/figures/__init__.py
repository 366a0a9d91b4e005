"""Arrays and labels in, plotly figures out; the only part that knows plotly."""
