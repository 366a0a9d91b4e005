"""The training loop (section 5): batches in, a checkpoint and a log out. It can stop at any step and resume."""

import contextlib
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.checkpoints.folder import save_checkpoint
from transformer.files import write_whole
from transformer.inference.pretrained import Pretrained
from transformer.model.config import ModelConfig
from transformer.model.tap import FUSED, OFF
from transformer.model.transformer import Transformer
from transformer.text.batching import Batch, bucket, make_batch
from transformer.text.bleu_tokenizers import tokenizer_for
from transformer.text.tokenizer import Tokenizer
from transformer.training.adam import STATE, Adam
from transformer.training.data import Pair, group_references
from transformer.training.epochs import Numbered, Varied, epochs, one_ahead
from transformer.training.evaluation import corpus_bleu, fits, surprise
from transformer.training.fused_loss import fused_label_smoothed_loss
from transformer.training.initialisation import shrink_branches
from transformer.training.muon import Muon
from transformer.training.parallel import ALONE, Workers
from transformer.training.r_drop import r_drop_loss
from transformer.training.schedule import learning_rate, paper_peak
from transformer.training.settings import Progress, Settings, TrainingError, snapshot_steps
from transformer.training.speed import prepare_for_training
from transformer.training.store import AnyStore, Folder, Memory, damaged


class _Losses(nn.Module):
    """The forward pass of training as one module, for `Workers.share` to wrap."""

    def __init__(self, model: Transformer, settings: Settings) -> None:
        super().__init__()
        self.model, self.settings = model, settings

    def forward(self, source: Tensor, target_in: Tensor, target_out: Tensor) -> tuple[Tensor, Tensor]:
        """Smoothed loss and plain negative log-likelihood, each summed over the batch's real target tokens."""
        if self.settings.r_drop:  # both passes as one batch: every row draws its own dropout
            source, target_in, target_out = (torch.cat((ids, ids)) for ids in (source, target_in, target_out))
        bfloat16 = self.settings.precision == "bfloat16"
        device = source.device.type
        tap = FUSED if self.settings.fused else OFF
        with torch.autocast(device, torch.bfloat16) if bfloat16 else contextlib.nullcontext():
            hidden = self.model.decode(target_in, self.model.encode(source, tap), source, tap)
        real = target_out != self.model.config.pad_id
        dtype = torch.bfloat16 if bfloat16 else torch.float32
        if self.settings.r_drop:
            logits = F.linear(hidden[real].to(dtype), self.model.embedding.weight.to(dtype)).float()
            first = target_out[real].chunk(2)[0]
            return r_drop_loss(logits.unflatten(0, (2, -1)), first, self.settings.smoothing, self.settings.r_drop)
        with torch.autocast(device, enabled=False):
            return fused_label_smoothed_loss(
                hidden[real].float(),
                self.model.embedding.weight,
                target_out[real],
                self.settings.smoothing,
                dtype,
            )


class Trainer:
    """One training run in a folder, on one device, by one process or by several workers of torchrun.

    The folder holds state.json and state.safetensors (the last saved state), states/ (weights to average), snapshots/,
    training.csv and finally the checkpoint. A folder with a saved state resumes; on a CPU the result is the same, bit
    for bit, as without the stop. folder None: writes nothing and keeps the same weights in memory. readers: processes
    that make the coming epochs, see `epochs`.
    """

    def __init__(
        self,
        folder: Path | None,
        config: ModelConfig,
        tokenizer: Tokenizer,
        train: Sequence[Pair],
        validation: Sequence[Pair],
        settings: Settings,
        languages: tuple[str, str] = ("source", "target"),
        device: torch.device | str = "cpu",
        workers: Workers = ALONE,
        readers: int = 0,
    ) -> None:
        self.readers = readers
        self.store: AnyStore = Memory() if folder is None else Folder(Path(folder))
        self.config, self.tokenizer, self.settings = config, tokenizer, settings
        self.languages, self.device, self.workers = languages, torch.device(device), workers
        self.pairs = list(train)
        self.validation = list(validation)
        if not self.validation:
            raise TrainingError("there are no validation pairs; give at least one")
        self.step = self.epoch = self.batch = 0  # batch: number of the next batch in the epoch
        self.seconds = 0.0
        self.loss_sum = self.token_sum = 0.0  # since the last entry of the log
        self.latest = (0.0, 0)  # loss per token and tokens of the last step
        torch.manual_seed(settings.seed)
        self.model = Transformer(config)
        if settings.gain != 1:
            shrink_branches(self.model, settings.gain)
        self.model.to(self.device)
        prepare_for_training(self.model)
        if not workers.first:
            torch.manual_seed(settings.seed + workers.number)  # the same weights, but other dropout
        self.losses = workers.share(_Losses(self.model, settings))
        peak = settings.peak_rate or paper_peak(config.d_model, settings.warmup)
        schedule = (settings.warmup, settings.steps, settings.cooldown, settings.ramp)
        self.rate = lambda step: learning_rate(step, peak, *schedule)
        self.optimizer = Muon(self.model, settings.muon) if settings.muon else Adam(self.model.parameters())
        if workers.first:
            self.store.prepare()
        if (state := self.store.state()) is not None:
            self._restore(*state)
        elif workers.first:
            self.store.clear()
            if 0 in snapshot_steps(settings.steps, settings.snapshots):
                self.store.snapshot(0, self._weights())

    # -- batches --------------------------------------------------------------------------------------------------

    def _epochs(self) -> Iterator[Numbered]:
        """Source and target ids of every pair that fits the model's positions, from the saved epoch on."""
        settings, longest = self.settings, self.config.max_positions - 1
        found: Iterator[Numbered]
        if settings.sampling or settings.augmentation:
            varied = Varied(self.pairs, self.tokenizer, settings.augmentation, settings.sampling, settings.seed)
            found = epochs(varied, self.epoch, self.readers)
        else:
            encode = self.tokenizer.encode
            found = itertools.repeat([(encode(source), encode(target)) for source, target in self.pairs])
        for numbered in found:
            fitting = [(s, t) for s, t in numbered if 0 < len(s) <= longest and 0 < len(t) <= longest]
            if not fitting:
                raise TrainingError("no sentence pair has text on both sides and fits the model's positions")
            yield fitting

    def _batches(self) -> Iterator[tuple[int, int, Batch]]:
        """Endless batches, from the saved position on: epoch, number of the next batch in it, batch."""
        done = self.batch
        for epoch, numbered in enumerate(self._epochs(), self.epoch):
            rng = np.random.default_rng((self.settings.seed, epoch))
            order = bucket([(len(s) + 1, len(t) + 1) for s, t in numbered], self.settings.batch_tokens, rng)
            for number, indices in enumerate(order[done:], done + 1):
                rows = [numbered[i] for i in indices]
                yield epoch, number, make_batch([s for s, _ in rows], [t for _, t in rows], self.config)
            done = 0

    # -- one step -------------------------------------------------------------------------------------------------

    def _update(self, batch: Batch) -> tuple[float, int]:
        """One step of the optimiser. Returns the plain loss per token and the number of tokens, over all workers."""
        if not self.model.training:  # `train()` on 60 modules takes 0.3 ms
            self.model.train()
        self.step += 1
        tokens = int((batch.target_out != self.config.pad_id).sum())
        loss, surprise = self.losses(*self._placed(self.workers.part(batch)))
        # Gradients are averaged over workers, but the loss of a step is the mean over all tokens of the batch.
        (loss * (self.workers.count / tokens)).backward()
        norm = torch.nn.utils.clip_grad_norm_(self.optimizer.parameters, self.settings.clip or math.inf)
        mean = self.workers.total(surprise.detach()).item() / tokens
        if not math.isfinite(mean) or not torch.isfinite(norm):  # stop before the weights change
            raise TrainingError(
                "at step {step} the loss is {mean} and the gradient norm {norm}; start a new run with a "
                "lower peak_rate or a longer warm-up",
                step=self.step,
                mean=mean,
                norm=norm.item(),
            )
        self.optimizer.step(self.rate(self.step))
        self.optimizer.forget_gradients()
        return mean, tokens

    def _placed(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        return batch.source.to(self.device), batch.target_in.to(self.device), batch.target_out.to(self.device)

    # -- validation -----------------------------------------------------------------------------------------------

    def validate(self) -> tuple[float, float | None]:
        """Mean loss per target token over the validation pairs, and BLEU of greedy output on the first sources, or None
        if the settings switch BLEU off."""
        model = self.pretrained()
        total, count, _ = surprise(model, self.validation, self.settings.batch_tokens)
        sources, references = group_references(self.validation)
        wanted = self.settings.validation_sentences
        if not wanted:
            return total / max(count, 1), None
        tokenize = tokenizer_for(self.languages[1])
        return total / max(count, 1), corpus_bleu(self.translate(sources[:wanted]), references[:wanted], tokenize)

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Greedy translations with the current weights; an empty text for one that does not fit the model."""
        model = self.pretrained()
        fitting = [text if fits(model, text, "source") else "" for text in texts]
        return [one.text for one in model.translate_all(fitting, batch_tokens=self.settings.batch_tokens)]

    def pretrained(self) -> Pretrained:
        """The current model, ready to translate; the next step trains it further."""
        path = self.store.path
        return Pretrained(path.name, path, self.model.eval(), self.tokenizer, self.languages, {})

    # -- state ----------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        """Save everything needed to resume."""
        random = {f"random.{number}": state for number, state in enumerate(self.workers.gather(self._random()))}
        if not self.workers.first:
            return
        tensors: dict[str, Tensor] = dict(random)
        for name, parameter in self.model.named_parameters():
            tensors[f"model.{name}"] = parameter.detach()
            for key, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"adam.{key}.{name}"] = value
        about = {
            "step": self.step, "epoch": self.epoch, "place": self.batch, "seconds": self.seconds,
            "loss_sum": self.loss_sum, "token_sum": self.token_sum,
            "settings": dataclasses.asdict(self.settings), "model": self.config.to_dict(),
            "workers": self.workers.count, "device": self.device.type,
        }  # fmt: skip
        self.store.save(about, tensors)

    def _restore(self, about: dict[str, Any], tensors: Mapping[str, Tensor]) -> None:
        folder = self.store.path
        try:
            if ModelConfig.from_dict(about["model"]) != self.config:
                raise TrainingError(
                    "the run in {folder} has a model of other sizes; choose another folder", folder=folder
                )
            if about["step"] > self.settings.steps:
                raise TrainingError(
                    "the run in {folder} already has {done:,} steps, and only {steps:,} were requested; ask "
                    "for more, or choose another folder",
                    folder=folder,
                    done=about["step"],
                    steps=self.settings.steps,
                )
            if about.get("workers", 1) != self.workers.count or about.get("device", "cpu") != self.device.type:
                raise TrainingError(
                    "the run in {folder} uses {workers} workers on {device}, but this start has {count} on "
                    "{type}; resume it as it was started",
                    folder=folder,
                    workers=about.get("workers", 1),
                    device=about.get("device", "cpu"),
                    count=self.workers.count,
                    type=self.device.type,
                )
            for name, parameter in self.model.named_parameters():
                parameter.data.copy_(tensors[f"model.{name}"])
                self.optimizer.state[parameter] = {key: tensors[f"adam.{key}.{name}"].to(self.device) for key in STATE}
            self._set_random(tensors[f"random.{self.workers.number}"])
            self.step, self.epoch, self.batch = about["step"], about["epoch"], about["place"]
            self.seconds, self.loss_sum, self.token_sum = about["seconds"], about["loss_sum"], about["token_sum"]
        except TrainingError:
            raise
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise damaged(folder) from error

    def _random(self) -> Tensor:
        """The state of the random generator of dropout."""
        return self._generator().get_rng_state()

    def _set_random(self, state: Tensor) -> None:
        self._generator().set_rng_state(state)

    def _generator(self) -> Any:
        return {"cuda": torch.cuda, "mps": torch.mps}.get(self.device.type, torch)

    def _weights(self) -> dict[str, Tensor]:
        return {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}

    # -- the run --------------------------------------------------------------------------------------------------

    def run(
        self,
        report: Callable[[Progress], None] = lambda _: None,
        until: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Train up to step `until` (default: settings.steps), or until `stop` returns True, and save.

        report: called after every step in the first worker. stop: called after every step; one worker can stop all.
        """
        last = self.settings.steps if until is None else min(until, self.settings.steps)
        snapshots = set(snapshot_steps(self.settings.steps, self.settings.snapshots))
        batches = one_ahead(self._batches()) if self.readers else self._batches()
        while self.step < last:
            began = time.perf_counter()
            self.epoch, self.batch, batch = next(batches)
            loss, tokens = self._update(batch)
            self.seconds += time.perf_counter() - began
            self.latest = loss, tokens
            self.loss_sum, self.token_sum = self.loss_sum + loss * tokens, self.token_sum + tokens
            done = self.step == self.settings.steps
            entry = Progress(self.step, self.epoch, self.rate(self.step), loss, tokens, self.seconds)
            if self.step % self.settings.validate_every == 0 or done:
                entry.loss, entry.tokens = self.loss_sum / self.token_sum, int(self.token_sum)
                if self.workers.first:
                    entry.validation_loss, entry.validation_bleu = self.validate()
                    entry.validation_perplexity = math.exp(min(entry.validation_loss, 50))
                    self.store.log(entry)
                self.loss_sum = self.token_sum = 0.0
            regular = self.step % self.settings.save_every == 0 or done
            if self.workers.first:
                if self.step in snapshots:
                    self.store.snapshot(self.step, self._weights())
                if regular:
                    self.store.keep(self.step, self._weights(), self.settings.average)
            saved = regular or self.step == last
            if saved:
                self._save()
            if self.workers.first:
                report(entry)
            if self.workers.total(torch.tensor(float(stop()), device=self.device)):
                if not saved:
                    self._save()
                break

    def average(self) -> None:
        """Replace the weights by the mean of the last saved states (section 6.1)."""
        sums = {name: torch.zeros_like(parameter) for name, parameter in self.model.named_parameters()}
        count = 0
        for weights in self.store.kept():
            count += 1
            for name, tensor in weights.items():
                sums[name] += tensor.to(self.device)
        if not count:
            raise TrainingError("{path} has no saved states to average; train first", path=self.store.path)
        for name, parameter in self.model.named_parameters():
            parameter.data.copy_(sums[name] / count)

    def export(self, folder: Path) -> None:
        """Write the averaged weights as a checkpoint, and the log beside them."""
        self.average()
        save_checkpoint(folder, self.model, self.tokenizer, self.languages)
        if log := self.store.log_bytes():
            write_whole(folder / "training.csv", log)
