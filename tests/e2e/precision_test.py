#!/usr/bin/env python3
"""Executables in bf16, and with several threads a rank, do what those in f32 on one thread do."""

import json
import math
import os

from support import (PDC, EndToEndTest, losses, main, npy, random_floats, read, read_npy, read_safetensors,
                     relative_difference, run, text_file)

BF16 = "--precision=bf16"
ADAM = "--optimizer=adam"


class Bf16(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def train(self, executable, ranks, log, *options, steps=20):
        self.succeed(executable, ranks, "train", f"--data={self.text}", f"--steps={steps}", "--lr=0.01",
                     f"--log={log}", *options)
        return losses(self.path(log))

    def test_training_follows_that_in_f32(self):
        wide = self.train(self.executable("bytes", 2, 5, ADAM), 2, "wide")
        narrow = self.train(self.executable("bytes", 2, 5, ADAM, BF16), 2, "narrow")
        self.assertLess(relative_difference(wide, narrow), 2e-2)
        self.assertNotEqual(wide, narrow)  # or nothing was computed in bf16
        self.assertLess(narrow[-1], narrow[0])

    def test_gpt_tiny_learns(self):
        executable = self.executable("gpt_tiny", 2, 4, BF16)
        self.succeed(executable, 2, "train", f"--data={self.text}", "--steps=6", "--lr=0.003", "--log=log")
        values = losses(self.path("log"))
        self.assertLess(values[-1], values[0] - 0.5)

    def test_executables_and_plans_say_it(self):
        executable = self.executable("bytes", 2, 5, ADAM, BF16)
        self.assertIn("(bf16)", run([executable, "--version"]).out)
        self.assertEqual(json.loads(run([PDC, "plan", executable, "--format=json"]).out)["precision"], "bf16")

    def test_a_difference_in_bf16_comes_with_the_advice_to_compare_in_f32(self):
        for executable, advises in ((self.executable("bytes", 2, 5, ADAM, BF16), True),
                                    (self.executable("gpt_tiny", 2, 3), False)):
            result = self.refuse(executable, 2, "verify", "--tolerance=0", says="differs from the single-device step")
            self.assertEqual("--precision=f32 tells whether it is right" in result.err, advises, str(result))

    def test_parameters_stay_f32_and_a_resumed_run_is_the_uninterrupted_one(self):
        executable = self.executable("bytes", 2, 5, ADAM, BF16)
        whole = self.train(executable, 2, "whole", "--checkpoint=whole.c", steps=8)
        self.train(executable, 2, "part", "--checkpoint=part.c", steps=5)
        self.assertEqual(whole, self.train(executable, 2, "part", "--checkpoint=part.c", "--resume", steps=8))
        paths = [self.path(f"{name}.c/step-00000008/model.safetensors") for name in ("whole", "part")]
        self.assertEqual(read(paths[0]) == read(paths[1]), True, "the checkpoints differ")
        self.assertEqual({kind for kind, _, _ in read_safetensors(paths[0])[1].values()}, {"F32"})

    def test_checkpoints_go_from_one_precision_to_the_other(self):
        wide, narrow = self.executable("bytes", 2, 5, ADAM), self.executable("bytes", 2, 5, ADAM, BF16)
        self.train(wide, 2, "log", "--checkpoint=c", steps=30)
        found = []
        for executable in (wide, narrow):
            self.succeed(executable, 2, "eval", f"--data={self.text}", "--checkpoint=c", "--json=eval.json")
            found.append(json.loads(read(self.path("eval.json")))["loss"])
        self.assertLess(relative_difference(found[:1], found[1:]), 2e-2)

    def test_verify_holds_within_its_tolerance_and_not_within_that_of_f32(self):
        executable = self.executable("gpt_tiny", 2, 3, BF16)
        result = self.succeed(executable, 2, "verify", f"--data={self.text}", "--json=verify.json")
        self.assertIn("tolerance 2.0e-02: equal", result.out)
        self.assertTrue(json.loads(read(self.path("verify.json")))["equal"])
        self.refuse(executable, 2, "verify", f"--data={self.text}", "--tolerance=1e-9", says=["differs", "1.0e-09"])

    def test_inference_is_near_that_in_f32(self):
        npy(self.path("x.npy"), "f", (5, 1, 28, 28), random_floats(5 * 28 * 28))
        found = []
        for options in ((), (BF16,)):
            self.succeed(self.executable("lenet", 2, 4, *options), 2, "infer", "--input=x.npy", "--output=y.npy")
            shape, logits = read_npy(self.path("y.npy"))
            self.assertEqual(shape, (5, 10))
            found.append(logits)
        largest = max(abs(value) for value in found[0])
        self.assertLess(max(abs(a - b) for a, b in zip(*found)), 5e-2 * largest)
        self.assertTrue(all(math.isfinite(value) for value in found[1]))


class Threads(EndToEndTest):

    def train(self, executable, log, *options):
        self.succeed(executable, 2, "train", "--data=text", "--steps=5", "--lr=0.003", f"--log={log}", *options)
        return losses(self.path(log))

    def test_losses_do_not_depend_on_the_number_of_threads(self):
        text_file(self.path("text"))
        one = self.train(self.executable("gpt_tiny", 2, 3), "one")
        three = self.executable("gpt_tiny", 2, 3, "--threads=3")
        self.assertLess(relative_difference(one, self.train(three, "three")), 1e-5)
        self.assertLess(relative_difference(one, self.train(three, "fewer", "--threads=2")), 1e-5)
        self.assertEqual(json.loads(run([PDC, "plan", three, "--format=json"]).out)["threads"], 3)

    def test_a_convolutional_network_too(self):
        executable = self.executable("resnet_tiny", 2, 5, "--threads=2")
        self.succeed(executable, 2, "verify", "--steps=2")

    def test_two_runs_with_threads_are_the_same_bit_for_bit(self):
        text_file(self.path("text"))
        executable = self.executable("gpt_tiny", 2, 3, "--threads=3")
        self.assertEqual(self.train(executable, "a"), self.train(executable, "b"))


if __name__ == "__main__":
    main()
