"""The attention drawing for browsers: plain JavaScript and CSS, and what packs a Trace for them."""
