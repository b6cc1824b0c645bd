"""The models of models/*.mlir that the golden values are for, in JAX: parameters, loss, data of a step."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import streams

SEED = 42  # of initial parameters
DATA_SEED = 7  # of the data


class Params:
    """Initial values by name, as `pdc` would make them."""

    def __init__(self):
        self.values, self.state = {}, {}

    def normal(self, name, shape, deviation):
        self.values[name] = streams.normal(name, shape, SEED, 0.0, deviation)

    def truncated(self, name, shape, deviation):
        self.values[name] = streams.truncated_normal(name, shape, SEED, deviation)

    def kaiming(self, name, shape):
        fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
        self.normal(name, shape, math.sqrt(2.0 / fan_in))

    def zeros(self, name, shape):
        self.values[name] = np.zeros(shape, np.float32)

    def ones(self, name, shape):
        self.values[name] = np.ones(shape, np.float32)

    def linear(self, name, rows, columns, deviation):
        self.normal(name + ".weight", (rows, columns), deviation)
        self.zeros(name + ".bias", (columns,))

    def norm(self, name, width):
        self.ones(name + ".weight", (width,))
        self.zeros(name + ".bias", (width,))


def ids(field, step, shape, count):
    u = streams.uniform(f"golden.{field}.{step}", shape, DATA_SEED).astype(np.float64)
    return np.floor(u * count).astype(np.int32)


def floats(field, step, shape):
    return streams.normal(f"golden.{field}.{step}", shape, DATA_SEED)


def cross_entropy(logits, labels, ignore=-100):
    log_probabilities = jax.nn.log_softmax(logits.astype(jnp.float32), axis=-1)
    valid = labels != ignore
    picked = jnp.take_along_axis(log_probabilities, jnp.where(valid, labels, 0)[..., None], axis=-1)[..., 0]
    return -jnp.sum(jnp.where(valid, picked, 0.0)) / jnp.maximum(jnp.sum(valid), 1)


def layer_norm(x, p, name, epsilon=1e-5):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + epsilon) * p[name + ".weight"] + p[name + ".bias"]


def attention(q, k, v, causal):
    """[b, t, heads, d]"""
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    if causal:
        t, s = scores.shape[-2:]
        scores = jnp.where(jnp.arange(s)[None, :] <= jnp.arange(t)[:, None], scores, -jnp.inf)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, axis=-1), v)


def dispatch(indices, experts, capacity):
    """One-hot [g, s, k, experts * capacity] of the slots of tokens' choices [g, s, k]; zeros where there is none left
    (Lepikhin et al. 2020, algorithm 1: first choices before second ones, in the order of the tokens)."""
    g, s, k = indices.shape
    chosen = jax.nn.one_hot(jnp.swapaxes(indices, 1, 2).reshape(g, k * s), experts, dtype=jnp.int32)
    place = jnp.cumsum(chosen, axis=1) - chosen
    place = jnp.sum(place * chosen, axis=-1).reshape(g, k, s).swapaxes(1, 2)
    slot = jnp.where(place < capacity, indices * capacity + place, -1)
    return jax.nn.one_hot(slot, experts * capacity, dtype=jnp.float32)


def load_balancing_loss(gates):
    n = gates.shape[-1]
    gates = gates.reshape(-1, n)
    first = jax.nn.one_hot(jnp.argmax(gates, axis=-1), n, dtype=gates.dtype)
    return n * jnp.sum(jnp.mean(first, axis=0) * jnp.mean(gates, axis=0))


def conv(x, w, stride=1, padding=0):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2,
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"))


def max_pool(x, size, stride):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, size, size), (1, 1, stride, stride), "VALID")


class GptTiny:
    name, batch = "gpt_tiny", 4
    V, T, C, H, L = 256, 128, 128, 4, 4

    def init(self):
        p = Params()
        p.normal("wte.weight", (self.V, self.C), 0.02)
        p.normal("wpe.weight", (self.T, self.C), 0.02)
        projection = float(f"{0.02 / math.sqrt(2 * self.L):.10g}")
        for i in range(self.L):
            p.norm(f"h{i}.ln_1", self.C)
            p.linear(f"h{i}.attn.qkv", self.C, 3 * self.C, 0.02)
            p.linear(f"h{i}.attn.proj", self.C, self.C, projection)
            p.norm(f"h{i}.ln_2", self.C)
            p.linear(f"h{i}.mlp.fc", self.C, 4 * self.C, 0.02)
            p.linear(f"h{i}.mlp.proj", 4 * self.C, self.C, projection)
        p.norm("ln_f", self.C)
        return p

    def data(self, step):
        return {"tokens": ids("tokens", step, (self.batch, self.T), self.V),
                "labels": ids("labels", step, (self.batch, self.T), self.V)}

    def loss(self, p, state, data):
        b, t, c, h = self.batch, self.T, self.C, self.H
        x = p["wte.weight"][data["tokens"]] + p["wpe.weight"]
        for i in range(self.L):
            n = layer_norm(x, p, f"h{i}.ln_1")
            qkv = n @ p[f"h{i}.attn.qkv.weight"] + p[f"h{i}.attn.qkv.bias"]
            q, k, v = (z.reshape(b, t, h, c // h) for z in jnp.split(qkv, 3, axis=-1))
            a = attention(q, k, v, causal=True).reshape(b, t, c)
            x = x + a @ p[f"h{i}.attn.proj.weight"] + p[f"h{i}.attn.proj.bias"]
            n = layer_norm(x, p, f"h{i}.ln_2")
            f = jax.nn.gelu(n @ p[f"h{i}.mlp.fc.weight"] + p[f"h{i}.mlp.fc.bias"], approximate=True)
            x = x + f @ p[f"h{i}.mlp.proj.weight"] + p[f"h{i}.mlp.proj.bias"]
        x = layer_norm(x, p, "ln_f")
        return cross_entropy(x @ p["wte.weight"].T, data["labels"]), state


class MoeTiny:
    name, batch = "moe_tiny", 4
    V, T, C, H, L, E, K, CAPACITY, F = 256, 64, 64, 4, 2, 4, 2, 40, 128

    def init(self):
        p = Params()
        p.normal("wte.weight", (self.V, self.C), 0.02)
        p.normal("wpe.weight", (self.T, self.C), 0.02)
        for i in range(self.L):
            p.norm(f"h{i}.ln_1", self.C)
            p.linear(f"h{i}.attn.qkv", self.C, 3 * self.C, 0.02)
            p.linear(f"h{i}.attn.proj", self.C, self.C, 0.01)
            p.norm(f"h{i}.ln_2", self.C)
            p.normal(f"h{i}.moe.router.weight", (self.C, self.E), 0.1)
            p.normal(f"h{i}.moe.fc.weight", (self.E, self.C, self.F), 0.02)
            p.zeros(f"h{i}.moe.fc.bias", (self.E, 1, self.F))
            p.normal(f"h{i}.moe.proj.weight", (self.E, self.F, self.C), 0.01)
            p.zeros(f"h{i}.moe.proj.bias", (self.E, 1, self.C))
        p.norm("ln_f", self.C)
        return p

    def data(self, step):
        return {"tokens": ids("tokens", step, (self.batch, self.T), self.V),
                "labels": ids("labels", step, (self.batch, self.T), self.V)}

    def experts(self, p, name, x):
        gates = jax.nn.softmax(x @ p[name + ".router.weight"], axis=-1)
        top, indices = jax.lax.top_k(gates, self.K)
        weights = top / jnp.sum(top, axis=-1, keepdims=True)
        sent = dispatch(indices, self.E, self.CAPACITY)
        h = jnp.einsum("gskr,gsd->grd", sent, x).reshape(self.batch, self.E, self.CAPACITY, self.C)
        h = jnp.einsum("gecd,edf->gecf", h, p[name + ".fc.weight"]) + p[name + ".fc.bias"]
        h = jax.nn.gelu(h, approximate=True)
        h = jnp.einsum("gecf,efd->gecd", h, p[name + ".proj.weight"]) + p[name + ".proj.bias"]
        h = h.reshape(self.batch, self.E * self.CAPACITY, self.C)
        return jnp.einsum("gskr,gsk,grd->gsd", sent, weights, h), load_balancing_loss(gates)

    def loss(self, p, state, data):
        b, t, c, h = self.batch, self.T, self.C, self.H
        x, balance = p["wte.weight"][data["tokens"]] + p["wpe.weight"], 0.0
        for i in range(self.L):
            n = layer_norm(x, p, f"h{i}.ln_1")
            qkv = n @ p[f"h{i}.attn.qkv.weight"] + p[f"h{i}.attn.qkv.bias"]
            q, k, v = (z.reshape(b, t, h, c // h) for z in jnp.split(qkv, 3, axis=-1))
            a = attention(q, k, v, causal=True).reshape(b, t, c)
            x = x + a @ p[f"h{i}.attn.proj.weight"] + p[f"h{i}.attn.proj.bias"]
            y, loss = self.experts(p, f"h{i}.moe", layer_norm(x, p, f"h{i}.ln_2"))
            x, balance = x + y, balance + loss
        x = layer_norm(x, p, "ln_f")
        return cross_entropy(x @ p["wte.weight"].T, data["labels"]) + 0.01 * balance, state


class LeNet:
    name, batch = "lenet", 8

    def init(self):
        p = Params()
        for name, shape in (("conv1", (6, 1, 5, 5)), ("conv2", (16, 6, 5, 5)), ("fc1", (400, 120)), ("fc2", (120, 84)),
                            ("fc3", (84, 10))):
            p.kaiming(name + ".weight", shape)
            p.zeros(name + ".bias", (shape[0] if len(shape) == 4 else shape[1],))
        return p

    def data(self, step):
        return {"image": floats("image", step, (self.batch, 1, 28, 28)), "label": ids("label", step, (self.batch,), 10)}

    def loss(self, p, state, data):
        x = jax.nn.relu(conv(data["image"], p["conv1.weight"], padding=2) + p["conv1.bias"][:, None, None])
        x = max_pool(x, 2, 2)
        x = max_pool(jax.nn.relu(conv(x, p["conv2.weight"]) + p["conv2.bias"][:, None, None]), 2, 2)
        x = x.reshape(self.batch, 400)
        x = jax.nn.relu(x @ p["fc1.weight"] + p["fc1.bias"])
        x = jax.nn.relu(x @ p["fc2.weight"] + p["fc2.bias"])
        return cross_entropy(x @ p["fc3.weight"] + p["fc3.bias"], data["label"]), state


class ResNetTiny:
    name, batch = "resnet_tiny", 6

    def init(self):
        p = Params()

        def conv_bn(conv_name, bn_name, shape):
            p.kaiming(conv_name + ".weight", shape)
            p.norm(bn_name, shape[0])
            p.state[bn_name + ".running_mean"] = np.zeros(shape[0], np.float32)
            p.state[bn_name + ".running_var"] = np.ones(shape[0], np.float32)

        conv_bn("conv1", "bn1", (8, 3, 3, 3))
        conv_bn("layer1.0.conv1", "layer1.0.bn1", (8, 8, 3, 3))
        conv_bn("layer1.0.conv2", "layer1.0.bn2", (8, 8, 3, 3))
        conv_bn("layer2.0.conv1", "layer2.0.bn1", (16, 8, 3, 3))
        conv_bn("layer2.0.conv2", "layer2.0.bn2", (16, 16, 3, 3))
        conv_bn("layer2.0.downsample", "layer2.0.downsample.bn", (16, 8, 1, 1))
        p.linear("fc", 16, 10, 0.01)
        return p

    def data(self, step):
        return {"image": floats("image", step, (self.batch, 3, 16, 16)),
                "label": ids("label", step, (self.batch,), 10)}

    def loss(self, p, state, data):
        state = dict(state)

        def conv_bn(x, conv_name, bn_name, stride, padding):
            x = conv(x, p[conv_name + ".weight"], stride, padding)
            mean = jnp.mean(x, axis=(0, 2, 3))
            centered = x - mean[:, None, None]
            variance = jnp.mean(jnp.square(centered), axis=(0, 2, 3))
            count = x.size // x.shape[1]
            for name, value in (("running_mean", mean), ("running_var", variance * (count / (count - 1)))):
                state[f"{bn_name}.{name}"] = 0.9 * state[f"{bn_name}.{name}"] + 0.1 * value
            return (centered / jnp.sqrt(variance + 1e-5)[:, None, None] * p[bn_name + ".weight"][:, None, None]
                    + p[bn_name + ".bias"][:, None, None])

        def block(x, name, stride, downsample):
            y = jax.nn.relu(conv_bn(x, name + "conv1", name + "bn1", stride, 1))
            y = conv_bn(y, name + "conv2", name + "bn2", 1, 1)
            if downsample:
                x = conv_bn(x, name + "downsample", name + "downsample.bn", stride, 0)
            return jax.nn.relu(y + x)

        x = jax.nn.relu(conv_bn(data["image"], "conv1", "bn1", 1, 1))
        x = block(x, "layer1.0.", 1, False)
        x = block(x, "layer2.0.", 2, True)
        x = jnp.mean(x, axis=(2, 3))
        return cross_entropy(x @ p["fc.weight"] + p["fc.bias"], data["label"]), state


class BertTiny:
    name, batch = "bert_tiny", 4
    V, T, C, H, L = 128, 32, 64, 4, 2

    def init(self):
        p = Params()

        def linear(name, rows, columns):
            p.truncated(name + ".weight", (rows, columns), 0.02)
            p.zeros(name + ".bias", (columns,))

        for name, rows in (("word", self.V), ("position", self.T), ("segment", 2)):
            p.truncated(f"embeddings.{name}.weight", (rows, self.C), 0.02)
        p.norm("embeddings.norm", self.C)
        for i in range(self.L):
            for part in ("query", "key", "value", "output"):
                linear(f"layer{i}.attention.{part}", self.C, self.C)
            p.norm(f"layer{i}.attention.norm", self.C)
            linear(f"layer{i}.mlp.fc", self.C, 4 * self.C)
            linear(f"layer{i}.mlp.proj", 4 * self.C, self.C)
            p.norm(f"layer{i}.mlp.norm", self.C)
        linear("head.transform", self.C, self.C)
        p.norm("head.norm", self.C)
        p.zeros("head.bias", (self.V,))
        return p

    def data(self, step):
        shape = (self.batch, self.T)
        masked = streams.uniform(f"golden.masked.{step}", shape, DATA_SEED) < 0.15
        return {"tokens": ids("tokens", step, shape, self.V), "segments": ids("segments", step, shape, 2),
                "labels": np.where(masked, ids("labels", step, shape, self.V), -100).astype(np.int32)}

    def loss(self, p, state, data):
        b, t, c, h = self.batch, self.T, self.C, self.H

        def linear(x, name):
            return x @ p[name + ".weight"] + p[name + ".bias"]

        x = (p["embeddings.word.weight"][data["tokens"]] + p["embeddings.segment.weight"][data["segments"]]
             + p["embeddings.position.weight"])
        x = layer_norm(x, p, "embeddings.norm", 1e-12)
        for i in range(self.L):
            q, k, v = (linear(x, f"layer{i}.attention.{part}").reshape(b, t, h, c // h)
                       for part in ("query", "key", "value"))
            a = attention(q, k, v, causal=False).reshape(b, t, c)
            x = layer_norm(x + linear(a, f"layer{i}.attention.output"), p, f"layer{i}.attention.norm", 1e-12)
            f = jax.nn.gelu(linear(x, f"layer{i}.mlp.fc"), approximate=False)
            x = layer_norm(x + linear(f, f"layer{i}.mlp.proj"), p, f"layer{i}.mlp.norm", 1e-12)
        x = layer_norm(jax.nn.gelu(linear(x, "head.transform"), approximate=False), p, "head.norm", 1e-12)
        return cross_entropy(x @ p["embeddings.word.weight"].T + p["head.bias"], data["labels"]), state


ALL = [GptTiny(), MoeTiny(), LeNet(), ResNetTiny(), BertTiny()]
