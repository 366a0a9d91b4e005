"""The command line: one module per command. `add(parser)` adds its options, `run(options)` does the work."""
