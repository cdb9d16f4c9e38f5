"""A fast model and its slow transcription: the same values, the same gradients, the same buffers."""

import torch
from torch import Tensor, nn

from objectspace.models.parts.grid import GridOutput
from oracle.small import named, weighed_and_taught


def assert_same(fast: dict[str, Tensor], slow: dict[str, Tensor], model: nn.Module, slow_model: nn.Module) -> None:
    """Compare two tables of values; and, after a backward pass from the `loss` in each, the models they come from."""
    assert fast.keys() == slow.keys()
    for name, value in slow.items():
        assert fast[name].shape == value.shape, name
        torch.testing.assert_close(fast[name], value, rtol=1e-9, atol=1e-9, msg=named(name))
    fast["loss"].mean().backward()
    slow["loss"].mean().backward()
    for (name, left), right in zip(model.named_parameters(), slow_model.parameters(), strict=True):
        given = torch.zeros_like(left) if left.grad is None else left.grad
        expected = torch.zeros_like(right) if right.grad is None else right.grad
        torch.testing.assert_close(given, expected, rtol=1e-7, atol=1e-7, msg=named(f"gradient of {name}"))
    for (name, buffer), other in zip(model.named_buffers(), slow_model.buffers(), strict=True):
        torch.testing.assert_close(buffer, other, rtol=1e-9, atol=1e-9, msg=named(name))


def values(output: GridOutput) -> dict[str, Tensor]:
    """What a fast model of cells gives, by the names of the transcription."""
    front = output.foreground
    assert front is not None
    return {
        "reconstruction": output.reconstruction,
        "log_likelihood": output.log_likelihood,
        "loss": output.loss,
        "foreground": front.image,
        "mean": front.mean,
        "alpha": front.alpha,
        "weight": output.alpha,
        "background": output.background.image,
        "boundary": front.boundary,
        "where": front.cells.where,
        "presence": front.cells.presence,
        **weighed_and_taught(output),
        **{f"kl_{name}": term for name, term in output.kl.items()},
    }
