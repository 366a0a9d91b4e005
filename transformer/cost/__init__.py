"""What a model costs: parameters, operations, sequential steps, time of a layer."""
