"""The random streams of runtime/train/initialize.h in numpy: initial parameters and the data of the tests."""

import numpy as np

_MASK = np.uint64(0xFFFFFFFF)


def hash_name(name):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def philox(blocks, stream, seed):
    """Philox4x32-10 (Salmon et al. 2011) of counters (block, stream) under `seed`: uint64 words [blocks, 4]."""
    b = np.asarray(blocks, dtype=np.uint64)
    shift = np.uint64(32)
    x0, x1 = b & _MASK, b >> shift
    x2 = np.full_like(b, stream & 0xFFFFFFFF)
    x3 = np.full_like(b, stream >> 32)
    k0, k1 = np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * x0, np.uint64(0xCD9E8D57) * x2
        x0, x1, x2, x3 = (p1 >> shift) ^ x1 ^ k0, p1 & _MASK, (p0 >> shift) ^ x3 ^ k1, p0 & _MASK
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & _MASK, (k1 + np.uint64(0xBB67AE85)) & _MASK
    return np.stack([x0, x1, x2, x3], axis=-1)


def uniform(name, shape, seed, low=0.0, high=1.0):
    count = int(np.prod(shape, dtype=np.int64))
    words = philox(np.arange((count + 3) // 4), hash_name(name), seed).reshape(-1)[:count]
    u = (words >> np.uint64(8)).astype(np.float64) * 2.0**-24
    return (low + (high - low) * u).astype(np.float32).reshape(shape)


def _normal_blocks(blocks, name, seed):
    """Standard normal values [blocks, 4] in double precision."""
    words = philox(blocks, hash_name(name), seed).astype(np.float64)
    z = np.empty_like(words)
    for pair in (0, 2):
        radius = np.sqrt(-2.0 * np.log((words[:, pair] + 1.0) * 2.0**-32))
        angle = 2.0 * np.pi * words[:, pair + 1] * 2.0**-32
        z[:, pair], z[:, pair + 1] = radius * np.cos(angle), radius * np.sin(angle)
    return z


def normal(name, shape, seed, mean=0.0, deviation=1.0):
    count = int(np.prod(shape, dtype=np.int64))
    z = _normal_blocks(np.arange((count + 3) // 4), name, seed).reshape(-1)[:count]
    return (mean + deviation * z).astype(np.float32).reshape(shape)


def truncated_normal(name, shape, seed, deviation):
    count = int(np.prod(shape, dtype=np.int64))
    blocks = np.arange((count + 3) // 4)
    z = _normal_blocks(blocks, name, seed)
    attempt = 0
    while (outside := np.abs(z) > 2.0).any():
        attempt += 1
        again = _normal_blocks(blocks + attempt * 2**40, name, seed)
        z = np.where(outside, again, z)
    return (deviation * z.reshape(-1)[:count]).astype(np.float32).reshape(shape)
