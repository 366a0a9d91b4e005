"""The command line: one module a command, each with `add(parser)` for its options and `run(options)` for its work."""
