#!/usr/bin/env python3
"""Writes golden.json: losses of 20 training steps of small models in JAX with Optax, f32, on one CPU device.

    python3 -m venv env && env/bin/pip install -r requirements.txt && env/bin/python generate.py

Initial parameters and data come from the streams of runtime/train/initialize.h (streams.py), so nothing but losses needs to
be stored.
"""

import json
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import models
import numpy as np
import optax

STEPS = 20


def mask(params):
    """Parameters of rank 0 and 1 are exempt from weight decay (and from LARS's ratio)."""
    return jax.tree.map(lambda p: p.ndim > 1, params)


def decayed(weight_decay, optimizer):
    return optax.chain(optax.add_decayed_weights(weight_decay, mask=mask), optimizer)


# name of the run -> (model, optimizer of `pdc`, its settings, clip norm, learning rate, the same in Optax)
RUNS = {
    "gpt_tiny_adamw": ("gpt_tiny", "adamw", {"weight_decay": 0.01}, 0, 1e-3,
                       lambda lr: optax.adamw(lr, weight_decay=0.01, mask=mask)),
    "moe_tiny_adamw": ("moe_tiny", "adamw", {"weight_decay": 0.01}, 0, 1e-3,
                       lambda lr: optax.adamw(lr, weight_decay=0.01, mask=mask)),
    "resnet_tiny_momentum": ("resnet_tiny", "momentum", {"weight_decay": 1e-4}, 0, 0.05,
                             lambda lr: decayed(1e-4, optax.sgd(lr, momentum=0.9))),
    "bert_tiny_lamb": ("bert_tiny", "lamb", {"weight_decay": 0.01}, 0, 1e-3,
                       lambda lr: optax.lamb(lr, weight_decay=0.01, mask=mask)),
    "lenet_sgd": ("lenet", "sgd", {"weight_decay": 1e-3}, 0, 0.02, lambda lr: decayed(1e-3, optax.sgd(lr))),
    "lenet_momentum": ("lenet", "momentum", {}, 0, 0.01, lambda lr: optax.sgd(lr, momentum=0.9)),
    "lenet_nesterov": ("lenet", "momentum", {"nesterov": 1}, 0, 0.01,
                       lambda lr: optax.sgd(lr, momentum=0.9, nesterov=True)),
    "lenet_adam": ("lenet", "adam", {"weight_decay": 1e-3}, 0, 1e-3, lambda lr: decayed(1e-3, optax.adam(lr))),
    "lenet_adamw": ("lenet", "adamw", {"weight_decay": 0.1}, 0, 1e-3,
                    lambda lr: optax.adamw(lr, weight_decay=0.1, mask=mask)),
    "lenet_lars": ("lenet", "lars", {"weight_decay": 1e-4, "trust_coefficient": 0.01}, 0, 0.1,
                   lambda lr: optax.lars(lr, weight_decay=1e-4, weight_decay_mask=mask, trust_coefficient=0.01,
                                         trust_ratio_mask=mask)),
    "lenet_lamb": ("lenet", "lamb", {}, 0, 1e-2, lambda lr: optax.lamb(lr, mask=mask)),
    "lenet_clipped": ("lenet", "sgd", {}, 1.0, 0.05,
                      lambda lr: optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(lr))),
}


def losses_of(model, optimizer):
    initial = model.init()
    params = {k: jnp.asarray(v) for k, v in initial.values.items()}
    state = {k: jnp.asarray(v) for k, v in initial.state.items()}
    opt_state = optimizer.init(params)

    @jax.jit
    def step(params, state, opt_state, data):
        (loss, state), grads = jax.value_and_grad(model.loss, has_aux=True)(params, state, data)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return loss, optax.apply_updates(params, updates), state, opt_state, grads

    losses, first = [], {}
    for s in range(1, STEPS + 1):
        loss, params, state, opt_state, grads = step(params, state, opt_state, model.data(s))
        losses.append(float(loss))
        if s == 1:
            first = {k: float(jnp.sqrt(jnp.sum(jnp.square(v.astype(jnp.float32))))) for k, v in sorted(grads.items())}
    final_state = {k: [float(x) for x in np.asarray(v)] for k, v in sorted(state.items())}
    return losses, first, final_state


def main():
    by_name = {m.name: m for m in models.ALL}
    runs = {}
    for name, (model, optimizer, settings, clip, rate, build) in RUNS.items():
        losses, gradient_norms, state = losses_of(by_name[model], build(rate))
        runs[name] = {"model": model, "batch": by_name[model].batch, "optimizer": optimizer, "settings": settings,
                      "clip_norm": clip, "learning_rate": rate, "losses": losses,
                      "first_gradient_norms": gradient_norms, "final_state": state}
        print(name, losses[0], losses[-1], file=sys.stderr)
    made_with = {"jax": jax.__version__, "optax": optax.__version__, "numpy": np.__version__}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w", encoding="utf-8") as file:
        json.dump({"made_with": made_with, "steps": STEPS, "parameter_seed": models.SEED,
                   "data_seed": models.DATA_SEED, "runs": runs}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
