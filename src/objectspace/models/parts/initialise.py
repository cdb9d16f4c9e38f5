"""How the foreground's heads start.

As torch starts them, the KL of the scale alone is over 100 nats a cell (its prior is narrow), and switching all objects
off is the cheapest way out: presence dies within 50 steps and never returns. Started at their priors, present but
transparent, objects stay alive until they are good for something.
"""

import torch

from objectspace.config import Stage
from objectspace.models.parts.foreground import Foreground
from objectspace.models.parts.settings import GridConfig
from objectspace.ops.distributions import inverse_softplus


@torch.no_grad()
def initialise(foreground: Foreground, config: GridConfig, stage: Stage) -> None:
    """Set the heads as `config.init` says, for the priors of `stage`."""
    init = config.init
    if init.heads == "default":
        return
    scale, presence = foreground.heads.z_scale_net, foreground.heads.z_pres_net
    assert scale.bias is not None
    assert presence.bias is not None
    scale.weight.mul_(init.weight_factor)
    scale.bias[:2] = stage.scale_prior_mean
    scale.bias[2:] = inverse_softplus(config.foreground.scale_std_at(stage))
    presence.weight.mul_(init.weight_factor)
    presence.bias.fill_(init.presence_bias)
    if init.what_std is not None:
        what, dim = foreground.glimpse_encoder.enc_what, config.foreground.what_dim
        what.weight[dim:].mul_(init.weight_factor)
        what.bias[dim:] = inverse_softplus(init.what_std)
    alpha_bias = foreground.glimpse_decoder.dec_alpha.bias
    assert alpha_bias is not None
    alpha_bias.fill_(init.alpha_bias)
