#!/usr/bin/env python3
"""eval, infer, bench and verify on models of several kinds."""

import json
import math
import os

from support import EndToEndTest, idx, main, npy, random_floats, read, read_npy, text_file


def relative_lines(table):
    """{value: largest relative difference} of the table that verify prints."""
    rows = [line.split() for line in table.splitlines()]
    begin = rows.index(["value", "step", "largest", "difference", "relative"])
    return {row[0]: float(row[4]) for row in rows[begin + 1:] if len(row) == 5 or row[5:] == ["absolute"]}


class Commands(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))
        pixels = [int(127 * value) + 128 for value in random_floats(23 * 28 * 28)]
        cls.images = idx(os.path.join(cls.shared, "images-idx3-ubyte"), (23, 28, 28), pixels)
        cls.labels = idx(os.path.join(cls.shared, "labels-idx1-ubyte"), (23,), [i % 10 for i in range(23)])

    def verify(self, name, ranks, batch, *options, expected):
        executable = self.executable(name, ranks, batch)
        result = self.succeed(executable, ranks, "verify", *options, "--json=verify.json")
        rows = relative_lines(result.out)
        self.assertLessEqual({"loss"} | expected, {row.removeprefix("grad.") for row in rows}, result.out)
        self.assertLess(max(rows.values()), 1e-5, result.out)
        self.assertIn(": equal", result.out.splitlines()[-1])
        report = json.loads(read(self.path("verify.json")))
        self.assertTrue(report["equal"])
        self.assertEqual({row["name"] for row in report["values"]}, rows.keys())

    def test_verify_compares_every_gradient_of_gpt_tiny_on_two_ranks_with_an_uneven_batch(self):
        expected = {f"h{i}.{name}.{part}" for i in range(4) for name in ("ln_1", "attn.qkv", "mlp.fc", "mlp.proj")
                    for part in ("weight", "bias")}
        self.verify("gpt_tiny", 2, 3, f"--data={self.text}", expected=expected | {"wte.weight", "wpe.weight"})

    def test_verify_compares_every_gradient_of_lenet_on_three_ranks_with_an_uneven_batch(self):
        expected = {f"{name}.{part}" for name in ("conv1", "conv2", "fc1", "fc2", "fc3") for part in ("weight", "bias")}
        self.verify("lenet", 3, 5, f"--data={self.images},{self.labels}", "--steps=2", expected=expected)

    def test_verify_compares_every_gradient_of_resnet_tiny_on_random_data(self):
        self.verify("resnet_tiny", 2, 5, "--steps=2", expected={"conv1.weight"})

    def test_verify_fails_where_the_difference_is_above_the_tolerance(self):
        executable = self.executable("gpt_tiny", 2, 3)
        self.refuse(executable, 2, "verify", "--tolerance=0",
                    says=["step 1", "differs from the single-device step by", "tolerance 0.0e+00"])

    def test_bench_reports_times_and_memory(self):
        executable = self.executable("lenet", 2, 5)
        result = self.succeed(executable, 2, "bench", "--steps=3", "--json=bench.json")
        self.assertIn("median step", result.out)
        report = json.loads(read(self.path("bench.json")))
        self.assertEqual(len(report["step_times"]), 3)
        self.assertEqual(report["step_time"], sorted(report["step_times"])[1])
        self.assertAlmostEqual(report["samples_per_second"], 5 / report["step_time"], delta=1)
        self.assertEqual(len(report["peak_memory"]), 2)

    def train_lenet(self):
        executable = self.executable("lenet", 2, 5)
        self.succeed(executable, 2, "train", f"--data={self.images},{self.labels}", "--steps=40", "--lr=0.01",
                     "--checkpoint=c")
        return executable

    def test_eval_is_an_average_over_all_samples_on_any_number_of_ranks(self):
        self.train_lenet()
        found = []
        for ranks, batch in ((1, 23), (2, 5), (3, 4)):  # 5 and 4 leave a short last batch
            self.succeed(self.executable("lenet", ranks, batch), ranks, "eval", f"--data={self.images},{self.labels}",
                         "--checkpoint=c", "--json=eval.json")
            found.append(json.loads(read(self.path("eval.json"))))
            self.assertEqual(found[-1]["samples"], 23)
        for other in found[1:]:
            for key in ("loss", "accuracy"):
                self.assertAlmostEqual(found[0][key], other[key], delta=1e-5 * max(1, found[0][key]))

    def test_eval_of_text_can_be_of_the_part_that_was_not_trained_on(self):
        executable = self.executable("bytes", 2, 5)
        self.succeed(executable, 2, "train", f"--data={self.text}", "--steps=3", "--checkpoint=c")
        samples = {}
        for split in ("all", "train", "validation"):
            self.succeed(executable, 2, "eval", f"--data={self.text}", "--checkpoint=c", f"--split={split}",
                         "--json=eval.json")
            samples[split] = json.loads(read(self.path("eval.json")))["samples"]
        self.assertGreater(samples["train"], 5 * samples["validation"])
        self.assertGreater(samples["all"], samples["train"])

    def test_infer_writes_a_row_for_each_sample_whatever_the_batch_and_the_ranks(self):
        self.train_lenet()
        values = random_floats(13 * 28 * 28)
        npy(self.path("x.npy"), "f", (13, 1, 28, 28), values)
        outputs = []
        for ranks, batch in ((1, 13), (2, 5), (3, 4)):
            self.succeed(self.executable("lenet", ranks, batch), ranks, "infer", "--input=x.npy", "--output=y.npy",
                         "--checkpoint=c")
            shape, logits = read_npy(self.path("y.npy"))
            self.assertEqual(shape, (13, 10))
            outputs.append(logits)
        self.assertGreater(max(outputs[0]) - min(outputs[0]), 0.1)
        for other in outputs[1:]:
            self.assertLess(max(abs(a - b) for a, b in zip(outputs[0], other)), 1e-4)
        # The order is that of the input: one sample alone gives its own row.
        npy(self.path("one.npy"), "f", (1, 1, 28, 28), values[7 * 784:8 * 784])
        self.succeed(self.executable("lenet", 2, 5), 2, "infer", "--input=one.npy", "--output=one.y.npy",
                     "--checkpoint=c")
        shape, row = read_npy(self.path("one.y.npy"))
        self.assertEqual(shape, (1, 10))
        self.assertLess(max(abs(a - b) for a, b in zip(row, outputs[0][70:80])), 1e-4)

    def test_infer_of_a_language_model_gives_logits_for_every_token(self):
        executable = self.executable("gpt_tiny", 2, 3)
        self.succeed(executable, 2, "train", f"--data={self.text}", "--steps=1", "--checkpoint=c")
        tokens = [ord("the quick brown fox"[i % 19]) for i in range(4 * 128)]
        npy(self.path("x.npy"), "i", (4, 128), tokens)
        self.succeed(executable, 2, "infer", "--input=x.npy", "--output=y.npy", "--checkpoint=c")
        shape, logits = read_npy(self.path("y.npy"))
        self.assertEqual(shape, (4, 128, 256))
        self.assertTrue(all(math.isfinite(value) for value in logits[:1000]))

    def test_an_executable_for_inference_only_infers_evaluates_and_is_timed(self):
        self.train_lenet()
        executable = self.executable("lenet", 2, 5, "--mode=infer")
        npy(self.path("x.npy"), "f", (3, 1, 28, 28), random_floats(3 * 28 * 28))
        self.succeed(executable, 2, "infer", "--input=x.npy", "--output=y.npy", "--checkpoint=c")
        self.succeed(executable, 2, "eval", f"--data={self.images},{self.labels}", "--checkpoint=c")
        self.succeed(executable, 2, "bench", "--steps=2")
        self.refuse(executable, 2, "train", f"--data={self.images},{self.labels}", "--steps=1", says=["'train'", "--mode"])
        self.refuse(executable, 2, "verify", says=["'train'", "--mode"])


if __name__ == "__main__":
    main()
