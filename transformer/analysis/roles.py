"""What a head does over many sentences: shares of its rows, each beside what a head without a role would reach."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.analysis.attention import entropy
from transformer.analysis.heads import OFFSETS, Seen, WordList, links_of, plain, resting_place
from transformer.analysis.sums import added
from transformer.cancellation import Progress, tell
from transformer.texts import N_
from transformer.tracing.trace import KINDS

# What each role is called, in the order in which a tie between roles is decided, and in which they are listed.
NAMES = {
    "previous": N_("previous"),
    "same": N_("same"),
    "next": N_("next"),
    "predicted": N_("predicted"),
    "fed": N_("fed in"),
    "resting": N_("start/end"),
    "punctuation": N_("mark"),
    "rarest": N_("rarest"),
    "broad": N_("broad"),
}
ROLES = tuple(NAMES)
FARTHEST = 10  # largest offset of the baseline
OVER, LEAST = 0.1, 0.25  # a role needs a share of at least LEAST, and so much above the baseline
SURE = 1.96  # standard errors of a 95% interval
BROAD, BROAD_KEYS = 2.0, 4  # broad: no weight above this many times the even one, among at least so many keys
EVIDENCE = 3  # sentences with the strongest, and with the weakest evidence
LEAST_ROWS = 3  # a sentence is evidence for a role only with at least so many rows


@dataclass(frozen=True)
class Role:
    """What one head does. share: of the rows that could show it; error: its standard error over sentences; baseline:
    share that the better of two heads without a role would reach, one with even weights and one that always looks the
    same number of tokens away; for "previous", "same" and "next", which are such distances, only the first of them."""

    name: str
    share: float
    error: float
    baseline: float

    @property
    def over(self) -> bool:
        """Whether the share is at least LEAST, and above the baseline: by at least OVER, and by more than chance."""
        return self.share >= max(LEAST, self.baseline + OVER) and self.share - SURE * self.error > self.baseline


class Evidence(NamedTuple):
    """How much a sentence shows a role. sentence: its index; share: of its rows that could show the role."""

    sentence: int
    share: float


@dataclass(frozen=True)
class Roles:
    """Of one kind of attention. names: the roles that its heads can have; shares, errors: [role, layer, head];
    baselines, rows: [role], rows: how many could show it. by_sentence: [sentence, role, layer, head], NaN with fewer
    than LEAST_ROWS rows. confidence: mean of the largest weight of a row, without the rows and the weights of the
    source's end token (Voita et al. 2019); entropy: mean of H / ln (visible keys); distance: mean number of tokens
    between a row and what it attends to; each [layer, head].
    divergence: mean Jensen-Shannon divergence between the rows of two heads, in bits, [layer * head, layer * head]
    (Clark et al. 2019). A decoder row stands at the token fed in; "predicted" alone reads it by the token predicted.
    """

    kind: str
    names: tuple[str, ...]
    shares: Tensor
    errors: Tensor
    baselines: Tensor
    rows: Tensor
    by_sentence: Tensor
    confidence: Tensor
    entropy: Tensor
    distance: Tensor
    divergence: Tensor

    def of(self, layer: int, head: int) -> list[Role]:
        """Everything that the head was measured for, what is farthest above its baseline first: by the part of the way
        from the baseline to 1."""
        return list(self._sorted[layer][head])

    @cached_property
    def _sorted(self) -> list[list[list[Role]]]:
        layers, heads = self.confidence.shape
        numbers = zip(self.names, self.shares.tolist(), self.errors.tolist(), self.baselines.tolist(), strict=True)
        found: list[list[list[Role]]] = [[[] for _ in range(heads)] for _ in range(layers)]
        for name, shares, errors, baseline in numbers:
            for layer, head in itertools.product(range(layers), range(heads)):
                found[layer][head].append(Role(name, shares[layer][head], errors[layer][head], baseline))
        for roles in itertools.chain(*found):
            roles.sort(key=lambda role: (role.baseline - role.share) / max(1 - role.baseline, 1e-9))
        return found

    def role(self, layer: int, head: int) -> Role | None:
        """The role that is farthest above its baseline; None if none is."""
        return next((role for role in self.of(layer, head) if role.over), None)

    def evidence(
        self, name: str, layer: int, head: int, count: int = EVIDENCE
    ) -> tuple[list[Evidence], list[Evidence]]:
        """The sentences in which the head shows a role most, from the strongest evidence on, and least, from the
        weakest on."""
        shares = self.by_sentence[:, self.names.index(name), layer, head]
        order = [
            Evidence(int(index), float(shares[index]))
            for index in shares.argsort(descending=True, stable=True)
            if not shares[index].isnan()
        ]
        return order[:count], order[::-1][: min(count, max(0, len(order) - count))]

    def plane(self) -> Tensor:
        """Heads as points, [layer * head, 2]: their distances are near the square roots of the divergences (classical
        multidimensional scaling). The largest coordinate of each axis is positive."""
        count = len(self.divergence)
        centre = torch.eye(count).double() - 1 / count
        values, vectors = torch.linalg.eigh(-0.5 * centre @ self.divergence @ centre)
        points = vectors[:, -2:].flip(-1) * values[-2:].flip(-1).clamp(min=0).sqrt()
        largest = points.gather(0, points.abs().argmax(0, keepdim=True))
        return points * torch.where(largest < 0, -1.0, 1.0)


def to_dict(roles: Roles) -> dict[str, Any]:
    """The numbers as JSON, with four decimals."""

    def plain(values: Tensor) -> Any:
        return (values.double() * 1e4).round().div(1e4).tolist()

    layers, heads = roles.confidence.shape
    best = [[roles.role(layer, head) for head in range(heads)] for layer in range(layers)]
    measured = {
        name: {
            "share": plain(roles.shares[index]), "error": plain(roles.errors[index]),
            "baseline": round(float(roles.baselines[index]), 4), "rows": int(roles.rows[index]),
        }
        for index, name in enumerate(roles.names)
    }  # fmt: skip
    of_heads = {name: plain(getattr(roles, name)) for name in ("confidence", "entropy", "distance", "divergence")}
    return {"role": [[one and one.name for one in row] for row in best], "roles": measured, **of_heads}


def from_dict(kind: str, data: Mapping[str, Any], size: tuple[int, int], pairs: Sequence[tuple[str, str]]) -> Roles:
    """Roles from `to_dict`, with the "evidence" that `python -m transformer heads --json` adds: the sentences that show
    the role of each head. size: layers and heads; pairs: those that were measured. Raises ValueError, TypeError,
    KeyError for other data."""

    def measured(values: Any, *shape: int) -> Tensor:
        found = torch.tensor(values, dtype=torch.float64)
        if found.shape != shape:
            raise ValueError(f"{list(found.shape)} instead of {list(shape)}")
        return found

    count, of_roles = size[0] * size[1], {str(name): one for name, one in data["roles"].items()}
    names, measures = tuple(of_roles), list(of_roles.values())
    if not set(names) <= set(ROLES) or not names:
        raise ValueError(f"the roles {names}")
    indices = {pair: index for index, pair in reversed(list(enumerate(map(tuple, pairs))))}
    shown = torch.full((len(pairs), len(names), *size), math.nan, dtype=torch.float64)
    for layer, head in itertools.product(*map(range, size)):
        for one in itertools.chain(*(data["evidence"][layer][head] or {}).values()):
            place = names.index(data["role"][layer][head])
            shown[indices[one["source"], one["target"]], place, layer, head] = one["share"]
    confidence, entropy, distance = (measured(data[name], *size) for name in ("confidence", "entropy", "distance"))
    return Roles(
        kind, names,
        torch.stack([measured(one["share"], *size) for one in measures]),
        torch.stack([measured(one["error"], *size) for one in measures]),
        measured([one["baseline"] for one in measures], len(names)),
        measured([one["rows"] for one in measures], len(names)).long(),
        shown, confidence, entropy, distance, measured(data["divergence"], count, count),
    )  # fmt: skip


def word_counts(sentences: Iterable[Sequence[str | None]]) -> Counter[str]:
    """How often each word occurs, from the words of tokens (`heads.words_of`): pieces of one word count once."""
    found: Counter[str] = Counter()
    for words in sentences:
        before: str | None = None
        for word in words:
            if word is not None and word != before:
                found[word] += 1
            before = word
    return found


def _targets(
    kind: str, sentence: Seen, visible: Tensor, counts: Mapping[str, int], words: WordList | None
) -> dict[str, Tensor]:
    """role -> [query, key], True where a link shows the role. visible: [query, key]."""
    queries, keys = visible.shape
    key_words = sentence.targets_in if kind == "decoder_self" else sentence.sources
    steps = torch.arange(keys) - torch.arange(queries)[:, None]
    found: dict[str, Tensor] = {}
    if kind != "cross":
        found |= {name: steps == offset for name, offset in OFFSETS.items() if visible[steps == offset].any()}
    elif words is not None:
        for name, targets in (("predicted", sentence.targets_out), ("fed", sentence.targets_in)):
            found[name] = torch.tensor(
                [[bool(word and target and target in words.get(word, ())) for word in key_words] for target in targets]
            )
    columns = {
        "resting": [key == resting_place(kind, sentence.sources) for key in range(keys)],
        "punctuation": [word is not None and not any(map(str.isalnum, word)) for word in key_words],
    }
    found |= {name: torch.tensor(column).expand(queries, keys) for name, column in columns.items()}
    rare = torch.tensor([math.inf if word is None else float(counts.get(word, 0)) for word in key_words])
    seen = torch.where(visible, rare, math.inf)
    found["rarest"] = (seen == seen.amin(-1, keepdim=True)) & seen.isfinite()
    return found


class _Sums:
    """Sums over the rows of sentences, for one kind."""

    def __init__(self) -> None:
        self.hits: dict[str, list[Tensor]] = {}  # of every sentence, [layer, head]
        self.rows: dict[str, list[int]] = {}
        self.even: dict[str, float] = {}
        self.away: dict[str, Tensor] = {}  # hits of a head that looks so far away, [2 * FARTHEST + 1]
        self.measures: dict[str, Tensor] = {}
        self.wide_rows = 0
        self.sure_rows = 0  # of confidence

    def add(self, name: str, hits: Tensor, rows: int) -> None:
        self.hits.setdefault(name, []).append(hits)
        self.rows.setdefault(name, []).append(rows)

    def measure(self, name: str, values: Tensor) -> None:
        self.measures[name] = self.measures.get(name, 0) + values

    def plain(self) -> dict[str, Any]:
        """As JSON that adds up over parts of a corpus. The error of a share is made of squares and products."""
        found: dict[str, Any] = {}
        for name, of_sentences in self.hits.items():
            hits, rows = torch.stack(of_sentences), torch.tensor(self.rows[name]).double()
            both = hits * rows[:, None, None]
            found[name] = {
                "hits": hits.sum(0), "squares": hits.square().sum(0), "both": both.sum(0), "rows": sum(self.rows[name]),
                "row_squares": rows.square().sum(), "even": self.even.get(name, 0.0),
                "away": self.away.get(name, torch.zeros(1)),
            }  # fmt: skip
        return plain({"roles": found, "measures": self.measures, "rows": self.wide_rows, "sure": self.sure_rows})

    def shares(self) -> dict[str, Tensor]:
        """role -> [sentence, layer, head], NaN for a sentence with fewer than LEAST_ROWS rows."""
        found = {}
        for name, hits in self.hits.items():
            rows = torch.tensor(self.rows[name]).double()[:, None, None]
            found[name] = torch.where(rows >= LEAST_ROWS, torch.stack(hits) / rows.clamp(min=1), math.nan)
        return found


def _add_sentence(sums: _Sums, kind: str, sentence: Seen, counts: Mapping[str, int], words: WordList | None) -> None:
    weights = sentence.weights[kind].double()  # [layer, head, query, key]
    queries, keys = weights.shape[-2:]
    visible = sentence.masks[kind].reshape(-1, *sentence.masks[kind].shape[-2:])[0].expand(queries, keys)
    wide = visible.sum(-1)
    links = links_of(weights)
    query = torch.arange(queries)
    for name, target in _targets(kind, sentence, visible, counts, words).items():
        target = target & visible
        able = target.any(-1) & (wide > 1)
        sums.add(name, (links * target)[..., able, :].sum((-1, -2)), int(able.sum()))
        sums.even[name] = sums.even.get(name, 0.0) + float((target.sum(-1) / wide.clamp(min=1))[able].sum())
        if name in OFFSETS:
            continue
        away = torch.zeros(2 * FARTHEST + 1, dtype=torch.float64)
        for index, offset in enumerate(range(-FARTHEST, FARTHEST + 1)):
            key = query + offset
            inside = able & (key >= 0) & (key < keys)
            away[index] = target[query[inside], key[inside]].sum()
        sums.away[name] = sums.away.get(name, 0) + away
    many = wide >= BROAD_KEYS
    flat = weights.amax(-1) < BROAD / wide.clamp(min=1)
    sums.add("broad", flat[..., many].double().sum(-1), int(many.sum()))

    rows = wide > 1
    spread = torch.where(rows, entropy(weights) / wide.clamp(min=2).log(), 0.0)
    steps = (torch.arange(keys) - query[:, None]).abs().double()
    sure_keys, sure_rows = _without_end(kind, sentence, rows)
    sums.measure("confidence", weights[..., sure_keys].amax(-1)[..., sure_rows].sum(-1))
    sums.sure_rows += int(sure_rows.sum())
    sums.measure("entropy", spread.sum(-1))
    sums.measure("distance", (weights * steps)[..., rows, :].sum((-1, -2)))
    sums.wide_rows += int(rows.sum())
    flat_heads = weights.flatten(0, 1)[:, rows]  # [head, query, key]
    own = entropy(flat_heads)
    mixed = entropy((flat_heads[:, None] + flat_heads) / 2)
    sums.measure("divergence", (mixed - (own[:, None] + own) / 2).sum(-1) / math.log(2))


def _without_end(kind: str, sentence: Seen, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Which keys and which of the rows count for confidence, bool [key] and [query]: all but those of the source's end
    token, which the decoder is never fed with."""
    keys = torch.ones(sentence.weights[kind].shape[-1], dtype=torch.bool)
    if kind != "decoder_self":
        keys[resting_place(kind, sentence.sources)] = False
    return keys, rows & keys if kind == "encoder_self" else rows


def _finish(kind: str, sums: Mapping[str, Any], shares: Mapping[str, Tensor]) -> Roles:
    """sums: of `_Sums.plain`; shares: of the sentences that can be named as evidence."""
    of_roles = sums["roles"]
    names = tuple(name for name in ROLES if name in of_roles and of_roles[name]["rows"])

    def stacked(part: str) -> Tensor:
        found = torch.tensor([of_roles[name][part] for name in names], dtype=torch.float64)
        return found if found.dim() == 3 else found[:, None, None]

    rows = stacked("rows")
    total = stacked("hits") / rows
    # The sum over sentences of (hits - share * rows)^2, of a ratio of sums; rounding may make it negative.
    squares = stacked("squares") - 2 * total * stacked("both") + total.square() * stacked("row_squares")
    baselines = [max(of_roles[name]["even"], *of_roles[name]["away"]) / of_roles[name]["rows"] for name in names]
    counted = {"confidence": sums["sure"]}
    means = {
        name: torch.tensor(values, dtype=torch.float64) / max(counted.get(name, sums["rows"]), 1)
        for name, values in sums["measures"].items()
    }
    return Roles(
        kind, names, total, squares.clamp(min=0).sqrt() / rows, torch.tensor(baselines, dtype=torch.float64),
        rows.flatten().long(), torch.stack([shares[name] for name in names], 1), **means,
    )  # fmt: skip


def roles(
    sentences: Sequence[Seen],
    words: WordList | None = None,
    progress: Progress = lambda done, total: True,
) -> dict[str, Roles]:
    """What every head of every kind of attention does over sentences, see `Roles`. words: as for `head_statistics`;
    without them alignment is not measured.

    The share of a role counts rows with at least two visible keys, one of which shows it: its link, the key with the
    largest weight, does. "rarest": the word with the fewest occurrences in these sentences, among those visible.
    progress: called with (sentences done, all); False stops (Stopped). Raises ValueError if there is no sentence.
    """
    if not sentences:
        raise ValueError("at least one sentence is needed")
    counts = word_counts(one.sources for one in sentences), word_counts(one.targets_in for one in sentences)

    def counted() -> Iterator[Seen]:
        for done, sentence in enumerate(sentences, 1):
            yield sentence
            tell(progress, done, len(sentences))

    sums = _sums(counted(), counts, words)
    return {kind: _finish(kind, of_kind.plain(), of_kind.shares()) for kind, of_kind in sums.items()}


def _sums(
    sentences: Iterable[Seen], counts: tuple[Mapping[str, int], Mapping[str, int]], words: WordList | None
) -> dict[str, _Sums]:
    """counts: occurrences of the words of sources and of targets."""
    sums = {kind: _Sums() for kind in KINDS}
    for sentence in sentences:
        for kind, of_kind in sums.items():
            _add_sentence(of_kind, kind, sentence, counts[kind == "decoder_self"], words)
    return sums


def part(
    sentences: Iterable[Seen],
    counts: tuple[Mapping[str, int], Mapping[str, int]],
    words: WordList | None,
    places: Sequence[int],
) -> dict[str, Any]:
    """What a part of a corpus adds to the roles, as JSON: kind -> its sums, and the evidence, role -> [layer][head] ->
    (share, place). counts: of the words of all sources, and of all targets, in the corpus; places: number of each
    sentence in the corpus."""
    found = {}
    for kind, sums in _sums(sentences, counts, words).items():
        evidence = {
            name: [[_ends(list(zip(of_head, places, strict=True))) for of_head in layer] for layer in shares.tolist()]
            for name, shares in ((name, shares.permute(1, 2, 0)) for name, shares in sums.shares().items())
        }
        found[kind] = {"sums": sums.plain(), "evidence": evidence}
    return found


Ends = list[tuple[float, int]]


def _ends(shares: Ends) -> Ends:
    """The strongest and the weakest evidence, as `Roles.evidence` finds it."""
    measured = [(share, place) for share, place in shares if not math.isnan(share)]
    strongest = sorted(measured, key=lambda one: (-one[0], one[1]))[:EVIDENCE]
    return strongest + sorted({*measured} - {*strongest}, key=lambda one: (one[0], -one[1]))[:EVIDENCE]


def whole(parts: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Roles], list[int]]:
    """The roles over a corpus from its parts, in order; and the place of each sentence that is evidence: those alone
    are sentences of these `Roles`."""
    sums: dict[str, Any] = {}
    ends: dict[tuple[str, str, int, int], Ends] = {}
    for one in parts:
        for kind, of_kind in one.items():
            sums[kind] = added(sums.get(kind, {}), of_kind["sums"])
            for name, layers in of_kind["evidence"].items():
                for layer, head in itertools.product(range(len(layers)), range(len(layers[0]))):
                    key = (kind, name, layer, head)
                    ends[key] = _ends([*ends.get(key, ()), *map(tuple, layers[layer][head])])
    rows = {place: row for row, place in enumerate(sorted({place for some in ends.values() for _, place in some}))}
    shares: dict[str, dict[str, Tensor]] = {kind: {} for kind in sums}
    for (kind, name, layer, head), some in ends.items():
        size = torch.tensor(sums[kind]["roles"][name]["hits"]).shape
        of_role = shares[kind].setdefault(name, torch.full((len(rows), *size), math.nan, dtype=torch.float64))
        for share, place in some:
            of_role[rows[place], layer, head] = share
    return {kind: _finish(kind, of_kind, shares[kind]) for kind, of_kind in sums.items()}, list(rows)
