#!/usr/bin/env python3
"""Every format of data trains a model, and says what is wrong with a file that is damaged."""

import math
import os
import struct

from support import EndToEndTest, idx, losses, main, npy, random_floats, read, text_file, write


class Data(EndToEndTest):

    def learns(self, executable, ranks, *arguments, steps=40, factor=0.7):
        self.succeed(executable, ranks, "train", *arguments, f"--steps={steps}", "--log=log")
        values = losses(self.path("log"))
        self.assertEqual(len(values), steps)
        self.assertLess(sum(values[-3:]) / 3, factor * values[0])

    def pixels_of_class(self, label, count):
        """Noise around a level of its own for each of ten classes."""
        noise = random_floats(count, seed=label + 1)
        return [int(100 + 12 * label + 10 * value) % 256 for value in noise]

    def test_text(self):
        text_file(self.path("text"))
        self.learns(self.executable("bytes", 2, 6, "--optimizer=adam"), 2, "--data=text", "--lr=0.02")

    def test_tokens_of_two_bytes(self):
        tokens = [(i * 7) % 250 for i in range(3000)]
        write(self.path("corpus.bin"), struct.pack(f"<{len(tokens)}H", *tokens))
        self.learns(self.executable("bytes", 2, 6, "--optimizer=adam"), 2, "--data=corpus.bin", "--lr=0.05")

    def test_tokens_beyond_the_vocabulary_are_refused(self):
        write(self.path("corpus.bin"), struct.pack("<3000H", *[i % 300 for i in range(3000)]))
        self.refuse(self.executable("bytes", 2, 6, "--optimizer=adam"), 2, "train", "--data=corpus.bin", "--steps=200",
                    each_rank=True, says=["rank", "step", "'corpus.bin', tokens", "0 to 255"])

    def test_pairs_of_npy_files(self):
        labels = [i % 10 for i in range(40)]
        values = random_floats(40 * 784)
        for i, label in enumerate(labels):
            values[i * 784 + label] += 8
        npy(self.path("x.npy"), "f", (40, 784), values)
        npy(self.path("y.npy"), "q", (40,), labels)
        self.learns(self.executable("mlp", 2, 10, "--optimizer=sgd"), 2, "--data=x.npy,y.npy", "--lr=0.02")

    def test_idx_files_of_mnist(self):
        labels = [i % 10 for i in range(30)]
        pixels = [pixel for label in labels for pixel in self.pixels_of_class(label, 784)]
        idx(self.path("train-images-idx3-ubyte"), (30, 28, 28), pixels)
        idx(self.path("train-labels-idx1-ubyte"), (30,), labels)
        self.learns(self.executable("lenet", 2, 7, "--optimizer=adam"), 2,
                    "--data=train-images-idx3-ubyte,train-labels-idx1-ubyte", "--lr=0.005", steps=60, factor=0.95)

    def cifar(self, name, labels):
        records = b""
        for label in labels:
            channel = bytes(self.pixels_of_class(label, 1024))
            records += bytes([label]) + channel * 3
        return write(self.path(name), records)

    def test_cifar_10_binaries(self):
        self.cifar("data_batch_1.bin", [i % 10 for i in range(20)])
        self.cifar("data_batch_2.bin", [i % 10 for i in range(20)])
        self.learns(self.executable("cifar", 2, 8, "--optimizer=adam"), 2,
                    "--data=data_batch_1.bin,data_batch_2.bin", "--lr=0.01", "--mean=0.5,0.5,0.5",
                    "--std=0.2,0.2,0.2", steps=60, factor=0.95)

    def test_data_in_order_is_read_in_order(self):
        # The same image with two labels, one in each half: batches have one of two losses, in turn.
        npy(self.path("x.npy"), "f", (8, 784), random_floats(784) * 8)
        npy(self.path("y.npy"), "i", (8,), [0, 0, 0, 0, 1, 1, 1, 1])
        self.succeed(self.executable("mlp", 2, 4), 2, "train", "--data=x.npy,y.npy", "--steps=3", "--lr=1e-12",
                     "--sequential", "--log=log")
        first, second, third = losses(self.path("log"))
        self.assertAlmostEqual(first, third, delta=1e-5)
        self.assertGreater(abs(first - second), 1e-3)

    def test_damaged_data_is_refused(self):
        mlp, lenet, small = self.executable("mlp", 2, 10), self.executable("lenet", 2, 7, "--optimizer=adam"), \
            self.executable("cifar", 2, 8, "--optimizer=adam")
        npy(self.path("x.npy"), "f", (4, 784), random_floats(4 * 784))
        npy(self.path("y.npy"), "i", (4,), [1, 2, 3, 4])
        npy(self.path("y3.npy"), "i", (3,), [1, 2, 3])
        npy(self.path("y99.npy"), "i", (4,), [1, 2, 3, 99])
        npy(self.path("narrow.npy"), "f", (4, 100), random_floats(400))
        write(self.path("short.npy"), read(self.path("x.npy"))[:-5])
        write(self.path("noise.npy"), b"this is not an array")
        write(self.path("empty"), b"")
        idx(self.path("images-idx3-ubyte"), (2, 28, 28), bytes(2 * 784))
        idx(self.path("labels-idx1-ubyte"), (2,), [1, 2])
        write(self.path("cut-idx3-ubyte"), read(self.path("images-idx3-ubyte"))[:-1])
        self.cifar("whole.bin", [1, 2, 3])
        write(self.path("cut.bin"), read(self.path("whole.bin"))[:-1])
        for executable, data, says in (
            (mlp, "x.npy,y3.npy", ["y3.npy", "3 samples", "4"]),
            (mlp, "x.npy", ["label"]),
            (mlp, "narrow.npy,y.npy", ["narrow.npy", "100", "784"]),
            (mlp, "short.npy,y.npy", ["short.npy"]),
            (mlp, "noise.npy,y.npy", ["noise.npy"]),
            (mlp, "missing.npy,y.npy", ["missing.npy", "No such file"]),
            (mlp, "x.npy,y99.npy", ["y99.npy", "sample 3", "99", "0 to 9"]),
            (lenet, "cut-idx3-ubyte,labels-idx1-ubyte", ["cut-idx3-ubyte", "1584", "1583"]),
            (lenet, "images-idx3-ubyte", ["label"]),
            (small, "cut.bin", ["cut.bin", "3073"]),
            (small, "empty", ["empty"]),
        ):
            with self.subTest(data=data):
                self.refuse(executable, 2, "train", f"--data={data}", "--steps=1", says=says)

    def test_text_for_a_model_of_images_is_refused(self):
        text_file(self.path("text"))
        self.refuse(self.executable("mlp", 2, 10), 2, "train", "--data=text", "--steps=1", says=["text"])


if __name__ == "__main__":
    main()
