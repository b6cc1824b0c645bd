#!/usr/bin/env python3
"""Writes the handwritten digits that ship with scikit-learn as MNIST-style idx files, for models/lenet.mlir.

    pip install scikit-learn
    tools/data/digits.py FOLDER

1,797 images of 8 x 8 pixels (Alpaydin and Kaynak, UCI repository). Each is enlarged to 24 x 24 and framed to 28 x 28. Every
fifth image is for testing: FOLDER/{train,test}-{images-idx3,labels-idx1}-ubyte.
"""

import os
import struct
import sys

import numpy as np
from sklearn.datasets import load_digits


def write_idx(path, array):
    """An array of bytes with its shape before it (http://yann.lecun.com/exdb/mnist)."""
    with open(path, "wb") as file:
        file.write(struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape))
        file.write(array.tobytes())


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    digits = load_digits()
    images = np.clip(np.round(digits.images * (255.0 / 16.0)), 0, 255).astype(np.uint8)
    images = np.pad(images.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    labels = digits.target.astype(np.uint8)
    test = np.arange(len(labels)) % 5 == 4
    for name, chosen in (("train", ~test), ("test", test)):
        write_idx(os.path.join(folder, f"{name}-images-idx3-ubyte"), images[chosen])
        write_idx(os.path.join(folder, f"{name}-labels-idx1-ubyte"), labels[chosen])
        print(f"{name}: {int(chosen.sum())} images")


if __name__ == "__main__":
    main()
