#!/usr/bin/env python3
"""Writes golden.json: for each op, a one-op model, and the gradients that JAX gives for it.

    python3 -m venv env && env/bin/pip install -r ../numerics/golden/requirements.txt && env/bin/python generate.py

Every model computes loss = sum(y * probe), with `probe` a parameter of y's shape: its gradient is y itself, so that one set
of values checks the op's result and the gradients of its operands.
"""

import json
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numerics", "golden"))

import jax
import jax.numpy as jnp
import models
import numpy as np
import streams

SEED = models.SEED
CASES = []


def tensor(shape, element="f32"):
    return "tensor<" + "".join(f"{d}x" for d in shape) + element + ">"


def case(name, params, body, function, result, ids=None):
    """params: name -> shape, or (shape, "positive"). body: ops from %<param> to %y. ids: name -> (shape, count)."""
    ids = ids or {}
    text, values = [], {}
    arguments = ", ".join(f"%{n}: {tensor(s, 'i32')}" for n, (s, _) in ids.items()) or "%unused: tensor<1xf32>"
    text.append(f"nn.model @{name}({arguments}) -> tensor<f32> {{")
    for n, spec in list(params.items()) + [("probe", result)]:
        positive = len(spec) == 2 and spec[1] == "positive"
        shape = spec[0] if positive else spec
        init = "uniform(0.5, 2.0)" if positive else "normal(0.0, 1.0)"
        text.append(f'  %{n} = nn.param "{n}" init({init}) : {tensor(shape)}')
        values[n] = streams.uniform(n, shape, SEED, 0.5, 2.0) if positive else streams.normal(n, shape, SEED)
    text += ["  " + line for line in body.strip().split("\n")]
    r, axes = tensor(result), ", ".join(str(i) for i in range(len(result)))
    text.append(f"  %weighted = nn.mul %y, %probe : ({r}, {r}) -> {r}")
    text.append(f"  %loss = nn.reduce_sum %weighted {{axes = array<i64: {axes}>}} : ({r}) -> tensor<f32>")
    text += ["  nn.return %loss : tensor<f32>", "}"]
    data = {n: models.ids(n, 1, s, c) for n, (s, c) in ids.items()}

    def loss(p):
        y = function(p, data) if ids else function(p)
        assert y.shape == tuple(result), (name, y.shape, result)
        return jnp.sum(y * p["probe"])

    value, gradients = jax.value_and_grad(loss)({k: jnp.asarray(v) for k, v in values.items()})
    CASES.append({"name": name, "model": "\n".join(text) + "\n", "ids": {n: c for n, (_, c) in ids.items()},
                  "batch": next(iter(ids.values()))[0][0] if ids else 1, "loss": float(value),
                  "gradients": {k: [float(f"{x:.8g}") for x in np.asarray(g, np.float64).reshape(-1)]
                                for k, g in sorted(gradients.items())}})


def unary(name, function, positive=False, attributes=""):
    shape = (3, 17)
    spec = (shape, "positive") if positive else shape
    op = name.split("_")[0]
    case(name, {"a": spec}, f"%y = nn.{op} %a{attributes} : {tensor(shape)}", lambda p: function(p["a"]), shape)


unary("relu", jax.nn.relu)
unary("silu", jax.nn.silu)
unary("tanh", jnp.tanh)
unary("sigmoid", jax.nn.sigmoid)
unary("exp", jnp.exp)
unary("log", jnp.log, positive=True)
unary("sqrt", jnp.sqrt, positive=True)
unary("rsqrt", jax.lax.rsqrt, positive=True)
unary("neg", jnp.negative)
unary("abs", jnp.abs)
unary("square", jnp.square)
unary("gelu_exact", lambda x: jax.nn.gelu(x, approximate=False))
unary("gelu_tanh", lambda x: jax.nn.gelu(x, approximate=True), attributes=" {tanh}")

for op, function in (("add", jnp.add), ("sub", jnp.subtract), ("mul", jnp.multiply), ("div", jnp.divide),
                     ("max", jnp.maximum), ("min", jnp.minimum)):
    for label, a, b in (("same", (4, 5), (4, 5)), ("row", (4, 5), (5,)), ("column", (2, 4, 5), (4, 1)),
                        ("outer", (4, 1), (1, 5)), ("scalar", (3, 5), ())):
        r = np.broadcast_shapes(a, b)
        spec = (b, "positive") if op == "div" else b
        case(f"{op}_{label}", {"a": a, "b": spec},
             f"%y = nn.{op} %a, %b : ({tensor(a)}, {tensor(b)}) -> {tensor(r)}",
             lambda p, f=function: f(p["a"], p["b"]), r)

case("select", {"a": (4, 5), "b": (5,), "c": (4, 1)},
     """%m = nn.compare gt %a, %c : (tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x5xi1>
%y = nn.select %m, %a, %b : (tensor<4x5xi1>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>""",
     lambda p: jnp.where(p["a"] > p["c"], p["a"], p["b"]), (4, 5))


def reduce_case(op, function, shape, axes, keep):
    r = tuple((1 if keep else None) if i in axes else d for i, d in enumerate(shape))
    r = tuple(d for d in r if d is not None)
    attrs = f"axes = array<i64: {', '.join(map(str, axes))}>" + (", keep_dims" if keep else "")
    case(f"{op}_{'x'.join(map(str, axes))}{'_keep' if keep else ''}_of_{len(shape)}", {"a": shape},
         f"%y = nn.{op} %a {{{attrs}}} : ({tensor(shape)}) -> {tensor(r)}",
         lambda p: function(p["a"], axis=tuple(axes), keepdims=keep), r)


for op, function in (("reduce_sum", jnp.sum), ("reduce_mean", jnp.mean), ("reduce_max", jnp.max)):
    reduce_case(op, function, (3, 4, 5), (2,), False)
    reduce_case(op, function, (3, 4, 5), (0,), True)
    reduce_case(op, function, (3, 4, 5), (0, 2), False)
    reduce_case(op, function, (2, 3, 4, 5), (0, 2, 3), True)

case("reshape", {"a": (4, 6)}, "%y = nn.reshape %a : tensor<4x6xf32> to tensor<2x3x4xf32>",
     lambda p: p["a"].reshape(2, 3, 4), (2, 3, 4))
case("transpose", {"a": (2, 3, 4)},
     "%y = nn.transpose %a {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>",
     lambda p: jnp.transpose(p["a"], (2, 0, 1)), (4, 2, 3))
case("broadcast", {"a": (3, 1)}, "%y = nn.broadcast %a : tensor<3x1xf32> to tensor<2x3x4xf32>",
     lambda p: jnp.broadcast_to(p["a"], (2, 3, 4)), (2, 3, 4))
case("slice", {"a": (4, 7)},
     "%y = nn.slice %a {offsets = array<i64: 1, 1>, sizes = array<i64: 2, 3>, strides = array<i64: 1, 2>}"
     " : (tensor<4x7xf32>) -> tensor<2x3xf32>", lambda p: p["a"][1:3, 1:7:2], (2, 3))
case("pad", {"a": (2, 3)},
     "%y = nn.pad %a {low = array<i64: 1, 0>, high = array<i64: 2, 1>} : (tensor<2x3xf32>) -> tensor<5x4xf32>",
     lambda p: jnp.pad(p["a"], ((1, 2), (0, 1))), (5, 4))
case("concat", {"a": (2, 3), "b": (2, 2)},
     "%y = nn.concat %a, %b {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>",
     lambda p: jnp.concatenate([p["a"], p["b"]], axis=1), (2, 5))
case("split", {"a": (3, 5)},
     """%p, %q = nn.split %a {axis = 1 : i64, sizes = array<i64: 3, 2>} : (tensor<3x5xf32>) -> (tensor<3x3xf32>, tensor<3x2xf32>)
%y = nn.concat %q, %p {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x3xf32>) -> tensor<3x5xf32>""",
     lambda p: jnp.concatenate([p["a"][:, 3:], p["a"][:, :3]], axis=1), (3, 5))

case("linear", {"x": (2, 3, 5), "w": (5, 4), "b": (4,)},
     "%y = nn.linear %x, %w, %b : (tensor<2x3x5xf32>, tensor<5x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>",
     lambda p: p["x"] @ p["w"] + p["b"], (2, 3, 4))
case("linear_transposed_weight", {"x": (3, 5), "w": (4, 5)},
     "%y = nn.linear %x, %w {transpose_weight} : (tensor<3x5xf32>, tensor<4x5xf32>) -> tensor<3x4xf32>",
     lambda p: p["x"] @ p["w"].T, (3, 4))
case("linear_several_dimensions", {"x": (2, 3, 5), "w": (5, 3, 2), "b": (3, 2)},
     "%y = nn.linear %x, %w, %b : (tensor<2x3x5xf32>, tensor<5x3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x3x2xf32>",
     lambda p: jnp.einsum("bsi,ipn->bspn", p["x"], p["w"]) + p["b"], (2, 3, 3, 2))
case("linear_several_dimensions_transposed", {"x": (3, 3, 2), "w": (4, 3, 2), "b": (4,)},
     "%y = nn.linear %x, %w, %b {transpose_weight, inner_dims = 2 : i64} : (tensor<3x3x2xf32>, tensor<4x3x2xf32>, tensor<4xf32>) -> tensor<3x4xf32>",
     lambda p: jnp.einsum("bpn,opn->bo", p["x"], p["w"]) + p["b"], (3, 4))
for ta in (False, True):
    for tb in (False, True):
        flags = ", ".join(f for f, on in (("transpose_lhs", ta), ("transpose_rhs", tb)) if on)
        attrs = f" {{{flags}}}" if flags else ""
        a, b = ((5, 3) if ta else (3, 5)), ((4, 5) if tb else (5, 4))
        case(f"matmul_{'t' if ta else 'n'}{'t' if tb else 'n'}", {"a": a, "b": b},
             f"%y = nn.matmul %a, %b{attrs} : ({tensor(a)}, {tensor(b)}) -> tensor<3x4xf32>",
             lambda p, ta=ta, tb=tb: (p["a"].T if ta else p["a"]) @ (p["b"].T if tb else p["b"]), (3, 4))
        a, b = (2, 2) + a, (2, 2) + b
        case(f"batch_matmul_{'t' if ta else 'n'}{'t' if tb else 'n'}", {"a": a, "b": b},
             f"%y = nn.batch_matmul %a, %b{attrs} : ({tensor(a)}, {tensor(b)}) -> tensor<2x2x3x4xf32>",
             lambda p, ta=ta, tb=tb: ((jnp.swapaxes(p["a"], -1, -2) if ta else p["a"])
                                      @ (jnp.swapaxes(p["b"], -1, -2) if tb else p["b"])), (2, 2, 3, 4))


def conv_case(name, x, w, stride, padding, dilation, groups, bias):
    def function(p):
        y = jax.lax.conv_general_dilated(p["x"], p["w"], stride, [(padding[0], padding[2]), (padding[1], padding[3])],
                                         rhs_dilation=dilation, dimension_numbers=("NCHW", "OIHW", "NCHW"),
                                         feature_group_count=groups)
        return y + p["b"][:, None, None] if bias else y

    shapes = {"x": x, "w": w, **({"b": (w[0],)} if bias else {})}
    r = jax.eval_shape(function, {k: jax.ShapeDtypeStruct(s, jnp.float32) for k, s in shapes.items()}).shape
    array = lambda v: f"array<i64: {', '.join(map(str, v))}>"
    types = ", ".join(tensor(s) for s in shapes.values())
    case(name, shapes,
         f"%y = nn.conv2d %x, %w{', %b' if bias else ''} {{stride = {array(stride)}, padding = {array(padding)}, "
         f"dilation = {array(dilation)}, groups = {groups} : i64}} : ({types}) -> {tensor(r)}", function, r)


conv_case("conv2d", (2, 3, 6, 5), (4, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1, True)
conv_case("conv2d_strided", (1, 2, 7, 8), (3, 2, 3, 2), (2, 3), (0, 1, 1, 0), (1, 1), 1, False)
conv_case("conv2d_dilated", (1, 2, 8, 8), (2, 2, 3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 1, False)
conv_case("conv2d_grouped", (2, 4, 5, 5), (6, 2, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2, True)
conv_case("conv2d_depthwise", (1, 4, 5, 5), (4, 1, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 4, False)


def pool_case(name, x, kernel, stride, padding, kind, include_pad=False):
    pads = ((0, 0), (0, 0), (padding[0], padding[2]), (padding[1], padding[3]))
    window, steps = (1, 1) + kernel, (1, 1) + stride

    def function(p):
        if kind == "max":
            return jax.lax.reduce_window(p["a"], -jnp.inf, jax.lax.max, window, steps, pads)
        total = jax.lax.reduce_window(p["a"], 0.0, jax.lax.add, window, steps, pads)
        if include_pad:
            return total / (kernel[0] * kernel[1])
        return total / jax.lax.reduce_window(jnp.ones_like(p["a"]), 0.0, jax.lax.add, window, steps, pads)

    r = jax.eval_shape(function, {"a": jax.ShapeDtypeStruct(x, jnp.float32)}).shape
    array = lambda v: f"array<i64: {', '.join(map(str, v))}>"
    attrs = f"kernel = {array(kernel)}, stride = {array(stride)}, padding = {array(padding)}"
    attrs += ", count_include_pad" if include_pad else ""
    case(name, {"a": x}, f"%y = nn.{kind}_pool2d %a {{{attrs}}} : ({tensor(x)}) -> {tensor(r)}", function, r)


pool_case("max_pool2d", (2, 3, 6, 6), (2, 2), (2, 2), (0, 0, 0, 0), "max")
pool_case("max_pool2d_overlapping", (1, 2, 7, 7), (3, 3), (2, 2), (1, 1, 1, 1), "max")
pool_case("avg_pool2d", (2, 3, 6, 6), (2, 2), (2, 2), (0, 0, 0, 0), "avg")
pool_case("avg_pool2d_padded", (1, 2, 5, 5), (3, 3), (2, 2), (1, 1, 1, 1), "avg")
pool_case("avg_pool2d_include_pad", (1, 2, 5, 5), (3, 3), (2, 2), (1, 1, 1, 1), "avg", include_pad=True)
case("global_avg_pool2d", {"a": (2, 3, 4, 5)},
     "%y = nn.global_avg_pool2d %a : (tensor<2x3x4x5xf32>) -> tensor<2x3xf32>",
     lambda p: jnp.mean(p["a"], axis=(2, 3)), (2, 3))

case("embedding", {"t": (7, 5)},
     "%y = nn.embedding %t, %ids : (tensor<7x5xf32>, tensor<3x4xi32>) -> tensor<3x4x5xf32>",
     lambda p, d: p["t"][d["ids"]], (3, 4, 5), ids={"ids": ((3, 4), 7)})


def layer_norm(p, bias):
    x = p["x"]
    mean = jnp.mean(x, axis=-1, keepdims=True)
    y = (x - mean) / jnp.sqrt(jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True) + 1e-5) * p["g"]
    return y + p["b"] if bias else y


case("layer_norm", {"x": (2, 3, 19), "g": (19,), "b": (19,)},
     "%y = nn.layer_norm %x, %g, %b : (tensor<2x3x19xf32>, tensor<19xf32>, tensor<19xf32>) -> tensor<2x3x19xf32>",
     lambda p: layer_norm(p, True), (2, 3, 19))
case("layer_norm_without_bias", {"x": (4, 16), "g": (16,)},
     "%y = nn.layer_norm %x, %g : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>",
     lambda p: layer_norm(p, False), (4, 16))
case("rms_norm", {"x": (4, 19), "g": (19,)},
     "%y = nn.rms_norm %x, %g : (tensor<4x19xf32>, tensor<19xf32>) -> tensor<4x19xf32>",
     lambda p: p["x"] / jnp.sqrt(jnp.mean(jnp.square(p["x"]), axis=-1, keepdims=True) + 1e-6) * p["g"], (4, 19))


def batch_norm(p):
    x = p["x"]
    axes = (0,) + tuple(range(2, x.ndim))
    mean = jnp.mean(x, axis=axes, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=axes, keepdims=True)
    along = lambda v: v.reshape((1, -1) + (1,) * (x.ndim - 2))
    return (x - mean) / jnp.sqrt(variance + 1e-5) * along(p["g"]) + along(p["b"])


for rank, shape in ((4, (3, 4, 5, 2)), (2, (6, 4))):
    t = tensor(shape)
    case(f"batch_norm_rank{rank}", {"x": shape, "g": (4,), "b": (4,)},
         f"""%m = nn.state "m" init(zeros) : tensor<4xf32>
%v = nn.state "v" init(ones) : tensor<4xf32>
%y = nn.batch_norm %x, %g, %b, %m, %v : ({t}, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> {t}""",
         batch_norm, shape)

case("softmax", {"x": (3, 17)}, "%y = nn.softmax %x {scale = 0.7 : f64} : (tensor<3x17xf32>) -> tensor<3x17xf32>",
     lambda p: jax.nn.softmax(0.7 * p["x"], axis=-1), (3, 17))
case("softmax_causal", {"x": (2, 4, 6)},
     "%y = nn.softmax %x {causal} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>",
     lambda p: jax.nn.softmax(jnp.where(jnp.arange(6)[None] <= jnp.arange(4)[:, None] + 2, p["x"], -jnp.inf), axis=-1),
     (2, 4, 6))
for causal in (False, True):
    q, k = (2, 5, 2, 4), ((2, 5, 2, 4) if causal else (2, 7, 2, 4))
    case("attention_causal" if causal else "attention_cross", {"q": q, "k": k, "v": k},
         f"%y = nn.attention %q, %k, %v{' {causal}' if causal else ''} : ({tensor(q)}, {tensor(k)}, {tensor(k)}) -> {tensor(q)}",
         lambda p, c=causal: models.attention(p["q"], p["k"], p["v"], c), q)

case("cross_entropy", {"x": (4, 9)},
     """%l = nn.cross_entropy %x, %labels : (tensor<4x9xf32>, tensor<4xi32>) -> tensor<f32>
%y = nn.reshape %l : tensor<f32> to tensor<1xf32>""",
     lambda p, d: models.cross_entropy(p["x"], d["labels"]).reshape(1), (1,), ids={"labels": ((4,), 9)})
case("cross_entropy_ignoring", {"x": (4, 3, 9)},
     """%l = nn.cross_entropy %x, %labels {ignore_index = 2 : i64} : (tensor<4x3x9xf32>, tensor<4x3xi32>) -> tensor<f32>
%y = nn.reshape %l : tensor<f32> to tensor<1xf32>""",
     lambda p, d: models.cross_entropy(p["x"], d["labels"], ignore=2).reshape(1), (1,), ids={"labels": ((4, 3), 5)})
case("mse", {"a": (4, 5), "b": (4, 5)},
     """%l = nn.mse %a, %b : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<f32>
%y = nn.reshape %l : tensor<f32> to tensor<1xf32>""",
     lambda p: jnp.mean(jnp.square(p["a"] - p["b"])).reshape(1), (1,))

case("top_k", {"x": (3, 2, 7)},
     """%y, %i = nn.top_k %x {k = 3 : i64} : (tensor<3x2x7xf32>) -> (tensor<3x2x3xf32>, tensor<3x2x3xi32>)""",
     lambda p: jax.lax.top_k(p["x"], 3)[0], (3, 2, 3))
case("load_balancing_loss", {"x": (3, 4, 5)},
     """%g = nn.softmax %x : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
%t, %i = nn.top_k %g {k = 2 : i64} : (tensor<3x4x5xf32>) -> (tensor<3x4x2xf32>, tensor<3x4x2xi32>)
%l = nn.load_balancing_loss %g, %i : (tensor<3x4x5xf32>, tensor<3x4x2xi32>) -> tensor<f32>
%y = nn.reshape %l : tensor<f32> to tensor<1xf32>""",
     lambda p: models.load_balancing_loss(jax.nn.softmax(p["x"], axis=-1)).reshape(1), (1,))


def experts_case(name, groups, tokens, experts, k, capacity, width=3):
    """Tokens to experts, which square them, and back; capacities that drop some."""
    x, g, slots = (groups, tokens, width), (groups, tokens, experts), (groups, tokens, k)
    rows = (groups, experts * capacity, width)

    def function(p):
        gates = jax.nn.softmax(p["g"], axis=-1)
        top, indices = jax.lax.top_k(gates, k)
        sent = models.dispatch(indices, experts, capacity)
        received = jnp.square(jnp.einsum("gskr,gsd->grd", sent, p["x"]))
        return jnp.einsum("gskr,gsk,grd->gsd", sent, top, received)

    i32 = lambda shape: tensor(shape, "i32")
    case(name, {"x": x, "g": g},
         f"""%gates = nn.softmax %g : ({tensor(g)}) -> {tensor(g)}
%top, %indices = nn.top_k %gates {{k = {k} : i64}} : ({tensor(g)}) -> ({tensor(slots)}, {i32(slots)})
%slots = nn.expert_slots %indices {{experts = {experts} : i64, capacity = {capacity} : i64}} : ({i32(slots)}) -> {i32(slots)}
%sent = nn.dispatch %x to %slots {{count = {experts * capacity} : i64}} : ({tensor(x)}, {i32(slots)}) -> {tensor(rows)}
%squares = nn.square %sent : {tensor(rows)}
%y = nn.combine %squares, %slots, %top : ({tensor(rows)}, {i32(slots)}, {tensor(slots)}) -> {tensor(x)}""", function, x)


experts_case("experts_top1", 2, 9, 4, 1, 3)
experts_case("experts_top2", 2, 9, 4, 2, 4)
experts_case("experts_with_room", 1, 5, 3, 2, 5)

if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"made_with": {"jax": jax.__version__, "numpy": np.__version__}, "parameter_seed": SEED,
                   "data_seed": models.DATA_SEED, "cases": CASES}, file, separators=(",", ":"))
        file.write("\n")
    print(f"{len(CASES)} cases", file=sys.stderr)
