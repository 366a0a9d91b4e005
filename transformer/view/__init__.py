"""The Python side of the browser pictures: payloads, state, and the built scripts."""
