"""One step of training: forward, backward, clip, both optimisers.

A step whose gradient is not finite changes nothing but the count of skipped steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from objectspace.config import Anneal
from objectspace.models.base import Output, SceneModel


class Objective(nn.Module):
    """What a process trains: the model with its schedule, giving plain tensors (Fabric does not know our records)."""

    def __init__(self, model: SceneModel, anneal: Anneal) -> None:
        super().__init__()
        self.model = model
        self.anneal = anneal

    def forward(
        self, images: Tensor, step: int, generator: torch.Generator | None, motion: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The loss and its terms for images (B, C, H, W), (B,) each; without a generator at the posterior's means."""
        stage, sample = self.anneal.at(step), generator is not None
        if stage.warm is not None:
            output = self.model.warm_start(images, stage, sample=sample, generator=generator)
        else:
            hints = {} if motion is None else {"motion": motion}  # which only models of cells take
            output = self.model(images, stage, sample=sample, generator=generator, **hints)
        return {"loss": output.loss} | _terms(output)


@dataclass(frozen=True)
class StepReport:
    """What a step has to say, averaged over its images."""

    terms: Mapping[str, float]  # loss, log_likelihood, squared_error (a sum), objects, kl_*, penalties
    gradient: float  # norm before clipping
    skipped: bool


def take_step(
    fabric: Fabric,
    objective: nn.Module,
    optimisers: Mapping[str, Optimizer],
    images: Tensor,
    step: int,
    generator: torch.Generator | None,
    clip: float,
    motion: Tensor | None = None,
    apart: Sequence[Sequence[nn.Parameter]] | None = None,
) -> StepReport:
    """Train on images (B, C, H, W) in [0, 1]; `motion` (B, H, W) marks what moves in them, where it is asked for.

    Gradients are clipped all together, or each group of parameters `apart`.
    """
    averages = [buffer.clone() for buffer in objective.buffers()]  # batch norm's: forward moves them
    terms: dict[str, Tensor] = objective(images, step, generator, motion)
    for optimiser in optimisers.values():
        optimiser.zero_grad()
    if terms["loss"].requires_grad:  # a background of stills may have nothing to learn while it is alone
        fabric.backward(terms["loss"].mean())
    groups = [list(objective.parameters())] if apart is None else apart
    norms = [nn.utils.clip_grad_norm_([each for each in group if each.grad is not None], clip) for group in groups]
    gradient = torch.stack([norm.to(terms["loss"]) for norm in norms]).norm()  # that of an empty group is the CPU's
    # Gradients are averaged over processes, so all of them see the same norm and decide alike.
    skipped = not bool(torch.isfinite(gradient))
    if skipped:
        for buffer, before in zip(objective.buffers(), averages, strict=True):
            buffer.copy_(before)
    else:
        for optimiser in optimisers.values():
            optimiser.step()
    return StepReport({name: float(value.detach().mean()) for name, value in terms.items()}, float(gradient), skipped)


@torch.no_grad()
def _terms(output: Output) -> dict[str, Tensor]:
    error = (output.reconstruction - output.target).square().flatten(1).sum(1)
    terms = {"log_likelihood": output.log_likelihood, "squared_error": error, "objects": output.objects.float()}
    terms |= {f"kl_{name}": value for name, value in output.kl.items()}
    terms |= dict(output.penalties) | dict(output.notes)
    return {name: value.detach() for name, value in terms.items()}
