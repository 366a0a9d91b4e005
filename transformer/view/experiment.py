"""The random experiment of "Why √d_k" for the browser: the Lab's page sends it, a site without a server holds it in
files."""

import json
from typing import Any

from transformer.analysis.scaling import LIMIT, RandomExperiment, random_experiment
from transformer.view.numbers import rounded

DRAWS = 3  # seeds that a site has


def experiment_files() -> dict[str, str]:
    """Path in a site -> JSON."""
    return {
        f"experiment/{seed}.json": json.dumps(experiment_data(random_experiment(seed), DRAWS), separators=(",", ":"))
        for seed in range(DRAWS)
    }


def experiment_data(experiment: RandomExperiment, draws: int) -> dict[str, Any]:
    """Lists by way of scoring, depth, and key or bin. draws: how many seeds there are, from 0."""
    return {
        "seed": experiment.seed,
        "draws": draws,
        "rows": experiment.rows,
        "keys": experiment.keys,
        "depths": list(experiment.depths),
        "limit": LIMIT,
        "variance": rounded(experiment.variance, 3),
        "scaled": rounded(experiment.scaled_variance, 4),
        "histogram": rounded(experiment.histogram, 4),
        "scores": rounded(experiment.scores, 2),
        "weights": rounded(experiment.weights, 4),
        "entropy": rounded(experiment.entropy, 4),
        "largest": rounded(experiment.largest, 4),
        "room": rounded(experiment.room, 4),
    }
