"""The models that a session can open: those of the server, its own, and each of them without some heads (`pruned`).

Its own models were trained on the Training page or loaded from a zip. Nobody else can open or see them.

Zips and the models opened from them are in caches of the process, and leave with their session. A model that was
evicted is opened from its zip again. If the zip was evicted too, the model is gone, and the page says so.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from pages.runtime import cache, pruned
from pages.runtime.memory import Owner
from pages.runtime.queue import let_give_way
from pages.runtime.session import from_session
from pages.runtime.shared import SharedCache, identity, owner_of, register
from pages.runtime.texts import readable_text
from transformer.checkpoints.archive import read_zip
from transformer.checkpoints.folder import CheckpointError
from transformer.checkpoints.languages import SPOKEN, two_languages
from transformer.inference.pretrained import Pretrained, open_files
from transformer.model.config import ModelConfig
from transformer.probing.importance import Head
from transformer.texts import UserError, _, translate

PREFIX = "mine/"  # prefix of their names in the menu and in links; no folder name has a slash
MOST = 8  # most models of a session
# Most bytes of everything that a session's models take: zips, opened models, their traces. A model trained here takes
# 3 MB, one from the largest zip that a page takes about 70.
MOST_BYTES = 200_000_000
LONGEST = 60  # most characters of a name
UNNAMED = ("source", "target")  # languages of a checkpoint that names none

ZIPS: SharedCache[bytes] = SharedCache("zips of sessions")
MODELS: SharedCache[Pretrained] = SharedCache("models of sessions")
# Each shares every tensor with the model that was read: what they take is their modules.
MODELS_BETWEEN: SharedCache[Pretrained] = SharedCache("models for other languages", most=16, weigh=lambda _: 100_000)


class SessionModel(Owner):
    """name: begins with PREFIX. It owns its zip, the model opened from it, and that model's results."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__()
        self.name = name
        ZIPS.store(self.id, data, self.id)

    @property
    def data(self) -> bytes | None:
        """The zip; None if it had to go."""
        return ZIPS.find(self.id)


@dataclass
class OwnModels:
    """The models of one session. models: by name, the oldest first; removed: names of those that had to go since
    `take_removed` was called last."""

    models: dict[str, SessionModel] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)


def own_models() -> dict[str, SessionModel]:
    """Name -> model of this session, the oldest first."""
    own = from_session(OwnModels)
    for name in [name for name, model in own.models.items() if model.data is None]:
        del own.models[name]
        own.removed.append(name)
    return own.models


def take_removed() -> list[str]:
    """A sentence for each model that had to go since the last call."""
    own_models()  # notes those that are gone
    own = from_session(OwnModels)
    removed, own.removed = own.removed, []
    sentence = _("{name} was removed: the server needed its memory. Load its zip again to open it.")
    return [sentence.format(name=name) for name in removed]


def names() -> list[str]:
    """All models that this session can open: the shared ones, then its own."""
    return [*cache.checkpoints(), *own_models()]


def _opened(session_model: SessionModel) -> Pretrained:
    def opened() -> Pretrained:
        data = session_model.data
        if data is None:
            raise CheckpointError("the checkpoint {name!r} no longer exists", name=session_model.name)
        model = open_files(read_zip(data), session_model.name, os.environ.get("HEADSCOPE_DEVICE", "cpu"))
        register(model, session_model.id, session_model.id)
        let_give_way(model.model)
        return model

    return MODELS.get(session_model.id, opened, queued=True, owner=session_model.id)


def _split(name: str) -> tuple[str, str]:
    """The name of the whole model, and the heads that it is opened without; the name alone for a whole model."""
    whole, mark, heads = name.rpartition(pruned.MARK)
    return (whole, heads) if mark and name not in names() else (name, "")


def whole_name(name: str) -> str:
    """The name of the whole model, for one without some heads: "en-de" of "en-de~cross.2.5"."""
    return _split(name)[0]


def heads_left_out(name: str, config: ModelConfig) -> Sequence[Head]:
    """The heads that a model of this name is opened without. Raises CheckpointError."""
    whole, heads = _split(name)
    return () if whole == name else pruned.heads_of(heads, config)


def name_without(name: str, heads: Sequence[str]) -> str:
    """The name of the same model without these heads too."""
    return f"{name}{pruned.MARK if whole_name(name) == name else ','}{','.join(heads)}"


def base_name(name: str) -> str:
    """The name of what is read for a model: "nllb" of "nllb@eng_Latn-kor_Hang"."""
    whole = whole_name(name)
    base, mark, _pair = whole.rpartition(SPOKEN)
    return base if mark and whole not in names() else whole


def known(name: str) -> bool:
    """Whether this session can open a model of this name, if it has the heads and languages of the name."""
    return base_name(name) in names()


def _between(name: str) -> Pretrained:
    """A model for the two languages in its name. Raises CheckpointError."""
    base = base_name(name)
    model = load(base)
    pair = name.removeprefix(f"{base}{SPOKEN}")

    def made() -> Pretrained:
        found = model.between(*two_languages(pair))
        register(found, f"{identity(model)}{SPOKEN}{pair}", owner_of(model))
        return found

    try:
        return MODELS_BETWEEN.get((identity(model), pair), made, queued=True, owner=owner_of(model))
    except UserError as error:
        raise CheckpointError("{error}", error=error) from error


def load(name: str) -> Pretrained:
    """A model this session can open, by its name. Raises CheckpointError."""
    whole, heads = _split(name)
    if whole != name:
        return pruned.pruned(load(whole), heads)
    if base_name(name) != name:
        return _between(name)
    session_model = own_models().get(whole)
    if session_model is not None:
        return _opened(session_model)
    path = cache.checkpoints().get(whole)
    if path is None:
        raise CheckpointError("the checkpoint {name!r} no longer exists", name=name[:LONGEST])
    return cache.load(whole, str(path))


def languages_of(name: str) -> tuple[str, str] | None:
    """Source and target of a model of this list; a shared one is not opened for it. None if there is no such model."""
    if (found := cache.languages_of(name)) is not None and name not in own_models():
        return found
    try:
        return load(name).languages
    except CheckpointError:
        return None


def title(name: str) -> str:
    """The name for readers: "en-de: English → German", "en-de without 12 heads"."""
    if (languages := cache.languages_of(name) or UNNAMED) != UNNAMED:
        source, target = map(translate, languages)
        return _("{name}: {source} → {target}", name=name, source=source, target=target)
    try:
        if base_name(name) != name and whole_name(name) == name:
            source, target = load(name).languages
            return _("{name}: {source} → {target}", name=base_name(name), source=source, target=target)
        return name if whole_name(name) == name else load(name).name
    except CheckpointError:
        return name[:LONGEST]


def _free_name(title: str) -> str:
    """The title as a name that is not used yet in this session."""
    plain = " ".join(readable_text(title).split()).replace("/", "-")[:LONGEST].strip() or "model"
    name, suffix = f"{PREFIX}{plain}", 2
    while name in own_models():
        name, suffix = f"{PREFIX}{plain} ({suffix})", suffix + 1
    return name


def add(title: str, data: bytes, current: str = "") -> tuple[str, list[str]]:
    """Open a zip and keep it in this session. current: the open model, which stays.

    Returns its name, and a sentence for every older model that was removed. Raises CheckpointError.
    """
    for known_model in own_models().values():
        if known_model.data == data:  # the same file again is the same model
            return known_model.name, []
    added = SessionModel(_free_name(title), data)
    _opened(added)
    if added.data is None:
        raise CheckpointError("this server has too little memory for the zip; its operator can raise --memory")
    own_models()[added.name] = added
    dropped = []
    for old in [name for name in own_models() if name not in (added.name, current)]:
        if len(own_models()) <= MOST and sum(model.bytes for model in own_models().values()) <= MOST_BYTES:
            break
        del own_models()[old]
        sentence = _(
            "{name} was removed: a session keeps at most {most} models of its own. Load its zip again to open it."
        )
        dropped.append(sentence.format(name=old, most=MOST))
    return added.name, dropped


def from_elsewhere(name: str) -> str:
    """A sentence: why a session model named in a link cannot be opened here; "" for another name."""
    if not name.startswith(PREFIX):
        return ""
    return _(
        "It was trained or loaded in another session, or in this one before the page was reloaded, and exists only "
        "there. Download it there as a zip and load the zip on the Training page."
    )
