#!/usr/bin/env python3
"""Training: logs, traces, checkpoints, and going on as if never stopped."""

import json
import os
import struct

from support import (EndToEndTest, losses, main, npy, random_floats, read, read_safetensors, relative_difference,
                     text_file)

BATCH = 5  # not a multiple of two or three ranks
ADAM = "--optimizer=adam"


class Train(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def train(self, ranks, steps, *options, name="bytes"):
        return self.succeed(self.executable(name, ranks, BATCH, ADAM), ranks, "train", f"--data={self.text}",
                            f"--steps={steps}", "--lr=0.01", *options)

    def test_the_loss_falls(self):
        self.train(2, 60, "--log=log")
        values = losses(self.path("log"))
        self.assertEqual(len(values), 60)
        self.assertAlmostEqual(values[0], 5.545, delta=0.2)  # ln 256
        self.assertLess(values[-1], values[0] / 2)

    def test_gpt_tiny_learns_on_two_ranks(self):
        executable = self.executable("gpt_tiny", 2, 4, "--optimizer=adamw")
        self.succeed(executable, 2, "train", f"--data={self.text}", "--steps=6", "--lr=0.003", "--log=log")
        values = losses(self.path("log"))
        self.assertLess(values[-1], values[0] - 0.5)

    def test_progress_in_a_file_is_a_plain_line_for_each_step(self):
        result = self.train(2, 4)
        lines = result.out.splitlines()
        self.assertEqual(len(lines), 4, result.out)
        for number, line in enumerate(lines, 1):
            self.assertRegex(line, rf"^step {number}/4  loss \d+\.\d+  ")
        self.assertNotIn("\x1b", result.out)
        self.assertNotIn("\r", result.out)

    def test_a_trace_holds_events_of_all_ranks(self):
        self.train(3, 3, "--trace=trace.json")
        trace = json.loads(read(self.path("trace.json")))
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({event["pid"] for event in spans}, {0, 1, 2})
        for event in spans:
            self.assertGreaterEqual(event["dur"], 0)
            self.assertIn("name", event)
        self.assertTrue(any("all_reduce" in event["name"] for event in spans))

    def test_two_runs_are_the_same_bit_for_bit(self):
        self.train(2, 6, "--log=a", "--checkpoint=ca")
        self.train(2, 6, "--log=b", "--checkpoint=cb")
        self.assertEqual(losses(self.path("a")), losses(self.path("b")))
        self.assert_same_checkpoint("ca/step-00000006", "cb/step-00000006")

    def test_other_seeds_are_other_runs(self):
        self.train(1, 3, "--log=a", "--seed=1")
        self.train(1, 3, "--log=b", "--seed=2")
        self.assertNotEqual(losses(self.path("a")), losses(self.path("b")))

    def test_any_number_of_ranks_gives_the_same_losses(self):
        for ranks in (1, 2, 3):
            self.train(ranks, 20, f"--log=log{ranks}")
        one = losses(self.path("log1"))
        for ranks in (2, 3):
            self.assertLess(relative_difference(one, losses(self.path(f"log{ranks}"))), 1e-5)

    def assert_same_checkpoint(self, a, b):
        for file in ("model.safetensors", "optimizer.safetensors", "state.json"):
            same = read(self.path(f"{a}/{file}")) == read(self.path(f"{b}/{file}"))
            self.assertTrue(same, f"{a}/{file} and {b}/{file} differ")

    def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit(self):
        for ranks in (1, 2, 3):
            self.train(ranks, 8, f"--log=whole{ranks}", f"--checkpoint=whole{ranks}.c")
            self.train(ranks, 5, f"--log=part{ranks}", f"--checkpoint=part{ranks}.c", "--every=4")
            self.train(ranks, 8, f"--log=part{ranks}", f"--checkpoint=part{ranks}.c", "--resume")
            self.assertEqual(losses(self.path(f"whole{ranks}")), losses(self.path(f"part{ranks}")))
            self.assert_same_checkpoint(f"whole{ranks}.c/step-00000008", f"part{ranks}.c/step-00000008")

    def test_running_statistics_resume_bit_for_bit(self):
        executable = self.executable("resnet_tiny", 2, 3, "--optimizer=momentum")
        npy(self.path("x.npy"), "f", (7, 3, 16, 16), random_floats(7 * 3 * 16 * 16))
        npy(self.path("y.npy"), "i", (7,), range(7))
        arguments = ["train", "--data=x.npy,y.npy", "--lr=0.01"]
        self.succeed(executable, 2, *arguments, "--steps=4", "--log=whole", "--checkpoint=whole.c")
        self.succeed(executable, 2, *arguments, "--steps=2", "--log=part", "--checkpoint=part.c")
        self.succeed(executable, 2, *arguments, "--steps=4", "--log=part", "--checkpoint=part.c", "--resume")
        self.assertEqual(losses(self.path("whole")), losses(self.path("part")))
        self.assert_same_checkpoint("whole.c/step-00000004", "part.c/step-00000004")

    def test_a_run_stopped_by_a_signal_resumes_bit_for_bit(self):
        executable = self.executable("bytes", 2, BATCH, ADAM)
        arguments = ["train", f"--data={self.text}", "--lr=0.01", "--log=part", "--checkpoint=part.c"]
        job = self.start(executable, 2, *arguments, "--steps=100000000")
        self.addCleanup(job.end)
        while not (os.path.exists(self.path("part")) and read(self.path("part")).count(b"\n") > 10):
            self.assertIsNone(job.process.poll(), "it ended by itself")
        os.kill(job.ranks()[0], 15)
        result = job.wait(20)
        self.assertNotEqual(result.code, 0)
        self.assertIn("continue with --resume", result.out[-300:])
        stopped = len(losses(self.path("part")))
        self.assertEqual(read(self.path("part.c/latest")).decode().strip(), f"step-{stopped:08d}")
        steps = stopped + 5
        self.succeed(executable, 2, *arguments, f"--steps={steps}", "--resume")
        self.succeed(executable, 2, "train", f"--data={self.text}", "--lr=0.01", "--log=whole", f"--steps={steps}",
                     "--checkpoint=whole.c")
        self.assertEqual(losses(self.path("whole")), losses(self.path("part")))
        self.assert_same_checkpoint(f"whole.c/step-{steps:08d}", f"part.c/step-{steps:08d}")

    def test_a_run_resumes_on_another_number_of_ranks(self):
        self.train(1, 12, "--log=whole")
        self.train(1, 4, "--log=part", "--checkpoint=c")
        self.train(2, 8, "--log=part", "--checkpoint=c", "--resume")
        self.train(3, 12, "--log=part", "--checkpoint=c", "--resume")
        self.assertLess(relative_difference(losses(self.path("whole")), losses(self.path("part"))), 1e-5)

    def test_checkpoints_are_written_every_so_many_steps_and_old_ones_go(self):
        self.train(2, 7, "--checkpoint=c", "--every=2", "--keep=2")
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["latest", "step-00000006", "step-00000007"])
        self.assertEqual(read(self.path("c/latest")), b"step-00000007\n")

    def test_an_earlier_checkpoint_can_be_resumed(self):
        self.train(2, 6, "--checkpoint=c", "--every=2", "--log=whole")
        self.train(2, 6, "--checkpoint=c", "--resume", "--checkpoint-step=2", "--log=whole")
        self.train(2, 6, "--log=again")
        self.assertEqual(losses(self.path("whole")), losses(self.path("again")))

    def test_checkpoints_are_safetensors_files_with_logical_names_and_shapes(self):
        self.train(3, 2, "--checkpoint=c")
        metadata, tensors = read_safetensors(self.path("c/step-00000002/model.safetensors"))
        self.assertEqual(metadata["step"], "2")
        self.assertEqual({name: (kind, shape) for name, (kind, shape, _) in tensors.items()},
                         {"table.weight": ("F32", [256, 16]), "place.weight": ("F32", [16, 16]),
                          "head.weight": ("F32", [16, 256]), "head.bias": ("F32", [256])})
        values = struct.unpack("<256f", tensors["head.bias"][2])
        self.assertTrue(any(values) and all(abs(value) < 1 for value in values))
        _, state = read_safetensors(self.path("c/step-00000002/optimizer.safetensors"))
        self.assertEqual(sorted(state), sorted(f"optimizer.{slot}.{name}" for name in tensors for slot in "mv"))
        for name, (kind, shape, _) in state.items():
            self.assertEqual((kind, shape), tensors[name.split(".", 2)[2]][:2])

    def test_a_checkpoint_is_the_same_whatever_the_number_of_ranks(self):
        self.train(1, 1, "--checkpoint=c1")
        self.train(2, 1, "--checkpoint=c2")
        one = read_safetensors(self.path("c1/step-00000001/model.safetensors"))[1]
        two = read_safetensors(self.path("c2/step-00000001/model.safetensors"))[1]
        for name, (_, _, data) in one.items():
            a, b = (struct.unpack(f"<{len(part) // 4}f", part) for part in (data, two[name][2]))
            # Adam's first step is the sign of the gradient times the rate: where a gradient is rounding, it may turn.
            apart = sum(abs(x - y) > 1e-5 for x, y in zip(a, b))
            self.assertLess(apart, 1 + len(a) / 100, name)

    def test_a_run_that_is_complete_says_so(self):
        self.train(2, 3, "--checkpoint=c")
        result = self.train(2, 3, "--checkpoint=c", "--resume")
        self.assertIn("step 3 is done already", result.out)

    def test_parameters_can_come_from_another_run(self):
        self.train(2, 40, "--checkpoint=c", "--log=first")
        self.train(2, 1, "--init-from=c/step-00000040/model.safetensors", "--log=second")
        self.assertLess(losses(self.path("second"))[0], losses(self.path("first"))[0] - 1)

    def test_validation_loss_is_logged(self):
        self.train(2, 4, "--eval-every=2", "--log=log")
        records = [json.loads(line) for line in read(self.path("log")).splitlines()]
        self.assertEqual(["validation_loss" in record for record in records], [False, True, False, True])


if __name__ == "__main__":
    main()
