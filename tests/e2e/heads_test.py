#!/usr/bin/env python3
"""Attention split by heads: of the merged projection of queries, keys and values, a rank has the columns of its heads."""

import os
import struct

from support import EndToEndTest, losses, main, read_safetensors, relative_difference, run, text_file, PDC

BATCH = 4
BY_HEADS = ("--parallel=tensor=2", "--layout=qkv:tensor")


class Heads(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def gpt(self, ranks):
        return self.executable("gpt_tiny", ranks, BATCH, "--optimizer=momentum", *(BY_HEADS if ranks > 1 else ()))

    def train(self, ranks, steps, *options, rate=0.01):
        self.succeed(self.gpt(ranks), ranks, "train", f"--data={self.text}", f"--steps={steps}", f"--lr={rate}", *options)

    def test_training_gives_the_losses_of_one_rank(self):
        for ranks in (1, 2):
            self.train(ranks, 6, f"--log=log{ranks}")
        self.assertLess(relative_difference(losses(self.path("log1")), losses(self.path("log2"))), 1e-5)

    def test_the_report_shows_heads_in_parts_and_the_declared_shape(self):
        table = run([PDC, "plan", self.gpt(2)]).out
        self.assertRegex(table, r"h\*\.attn\.qkv\.weight \(4\) +model x 3 x qkv/tensor\n")
        self.assertRegex(table, r"h\*\.attn\.qkv\.bias \(4\) +3 x qkv/tensor\n")
        shown = run([PDC, "plan", self.gpt(2), "--show=h0.attn.qkv.weight"]).out
        self.assertIn("h0.attn.qkv.weight: model 128 x 3 x qkv 128 (declared 128 x 384), qkv split over tensor (2 parts)\n",
                      shown)

    def test_verify_compares_with_one_device(self):
        result = self.succeed(self.gpt(2), 2, "verify", f"--data={self.text}", "--steps=1")
        self.assertIn("h0.attn.qkv.weight", result.out)

    def test_checkpoints_are_those_of_one_rank_in_the_shapes_of_the_model(self):
        files = {}
        for ranks in (1, 2):
            self.train(ranks, 2, f"--checkpoint=c{ranks}")
            for file in ("model", "optimizer"):
                files[file, ranks] = read_safetensors(self.path(f"c{ranks}/step-00000002/{file}.safetensors"))[1]
        self.assertEqual(files["model", 2]["h0.attn.qkv.weight"][1], [128, 384])
        self.assertEqual(files["model", 2]["h0.attn.qkv.bias"][1], [384])
        self.assertEqual(files["optimizer", 2]["optimizer.momentum.h0.attn.qkv.weight"][1], [128, 384])
        for file in ("model", "optimizer"):
            one, two = files[file, 1], files[file, 2]
            self.assertEqual(one.keys(), two.keys())
            for name, (kind, shape, data) in one.items():
                self.assertEqual((kind, shape), two[name][:2], name)
                a, b = (struct.unpack(f"<{len(part) // 4}f", part) for part in (data, two[name][2]))
                largest = max(abs(x) for x in a)
                self.assertLess(max(abs(x - y) for x, y in zip(a, b)), 1e-5 * largest + 1e-9, name)

    def test_a_run_goes_on_with_heads_split_and_whole_again(self):
        self.train(1, 6, "--log=whole")
        self.train(1, 2, "--log=part", "--checkpoint=c")
        self.train(2, 4, "--log=part", "--checkpoint=c", "--resume")
        self.train(1, 6, "--log=part", "--checkpoint=c", "--resume")
        self.assertLess(relative_difference(losses(self.path("whole")), losses(self.path("part"))), 1e-5)

    def test_the_initial_values_are_those_of_one_rank_bit_for_bit(self):
        weights = []
        for ranks in (1, 2):
            self.train(ranks, 1, f"--checkpoint=c{ranks}", rate=1e-30)  # which moves no weight
            tensors = read_safetensors(self.path(f"c{ranks}/step-00000001/model.safetensors"))[1]
            weights.append({name: tensor for name, tensor in tensors.items() if name.endswith("attn.qkv.weight")})
        self.assertEqual(len(weights[0]), 4)
        self.assertEqual(weights[0], weights[1])


if __name__ == "__main__":
    main()
