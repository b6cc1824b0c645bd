#!/usr/bin/env python3
"""pdc simulate: a step in simulated time, of executables and of plans."""

import json
import os

from support import PDC, EndToEndTest, main, model, read, run, write

CLUSTER = """name: pair
devices:
  gpu: {memory: 16 GB, memory_bandwidth: 900 GB/s, peak: {f32: 10 TFLOP/s}, launch: 1 us}
nodes:
  - {count: 2, device: gpu, devices: 1, host: {memory: 64 GB, link: {latency: 1 us, bandwidth: 10 GB/s}}}
network:
  - {name: net, members: 2, latency: 10 us, bandwidth: %s, sharing: per_member}
"""


class Simulate(EndToEndTest):

    def setUp(self):
        super().setUp()
        for name, bandwidth in (("fast.yaml", "10 GB/s"), ("slow.yaml", "10 MB/s")):
            write(self.path(name), (CLUSTER % bandwidth).encode())

    def simulate(self, *arguments):
        result = run([PDC, "simulate", *arguments], self.folder)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        return result.out

    def test_a_slow_network_makes_a_slow_step(self):
        executable = self.executable("mlp", 2, 8)
        fast, slow = (json.loads(self.simulate(executable, "--cluster=./" + name, "--format=json"))
                      for name in ("fast.yaml", "slow.yaml"))
        self.assertEqual((fast["model"], fast["mode"], fast["ranks"], fast["batch"]), ("mlp", "train", 2, 8))
        self.assertEqual([rank["rank"] for rank in fast["per_rank"]], [0, 1])
        self.assertAlmostEqual(fast["predicted"]["compute_time"], slow["predicted"]["compute_time"])
        # 2 MB of gradients, there and back, at 10 MB/s.
        self.assertGreater(slow["predicted"]["step_time"], 0.2)
        self.assertLess(fast["predicted"]["step_time"], 0.1)
        self.assertIn("predicted step time", self.simulate(executable, "--cluster=./fast.yaml"))
        infer = json.loads(self.simulate(executable, "--cluster=./slow.yaml", "--mode=infer", "--format=json"))
        self.assertLess(infer["predicted"]["step_time"], slow["predicted"]["step_time"])

    def test_the_trace_has_an_event_for_each_instruction_of_each_rank(self):
        executable = self.executable("mlp", 2, 8)
        self.assertEqual(self.simulate(executable, "--cluster=./fast.yaml", "--format=trace", "-o", "t.json"), "")
        with open(self.path("t.json")) as file:
            events = json.load(file)["traceEvents"]
        runs = [[e["args"]["instruction"] for e in events if e["ph"] == "X" and e["pid"] == rank and e["tid"] != 4]
                for rank in (0, 1)]
        self.assertEqual(runs[0], list(range(len(runs[0]))))
        self.assertEqual(len(runs[0]), len(runs[1]))
        self.assertIn("bucket 0 all_reduce", {e["name"] for e in events})

    def test_a_plan_is_simulated_as_its_executable_is(self):
        result = run([PDC, model("mlp"), "-o", "mlp", "--batch=8", "--cluster=./fast.yaml", "--parallel=data",
                      "--plan-out=plan.mlir"], self.folder)
        self.assertEqual(result.code, 0, str(result))
        of_executable, of_plan = (json.loads(self.simulate(name, "--cluster=./fast.yaml", "--format=json"))
                                  for name in ("mlp", "plan.mlir"))
        self.assertEqual(of_executable["predicted"], of_plan["predicted"])
        with_report = run([PDC, "plan", "mlp", "--format=json"], self.folder)
        self.assertAlmostEqual(json.loads(with_report.out)["predicted"]["step_time"],
                               of_plan["predicted"]["step_time"])

    def test_what_cannot_be_simulated(self):
        executable = self.executable("mlp", 2, 8)
        write(self.path("text"), b"no program\n")
        for arguments, says in (
            ([executable], "--cluster"),
            (["missing", "--cluster=local"], "missing: No such file"),
            (["/bin/true", "--cluster=local"], "not an executable made by pdc"),
            ([executable, "--cluster=nowhere"], "nowhere"),
            ([executable, "--cluster=./fast.yaml:nodes=1"], "too few"),
            ([executable, "--cluster=local", "--mode=reference"], "--mode"),
            ([executable, "--cluster=local", "--format=html"], "--format"),
            ([executable, "--cluster=local", "-o", executable], "overwrite"),
            ([executable, "--cluster=local", "-o", "no/folder"], "no/folder"),
        ):
            with self.subTest(arguments=arguments):
                self.refuse_pdc("simulate", *arguments, says=says)
        self.refuse_pdc("simulate", "text", "--cluster=local", says="text: is neither an executable nor a plan (")
        self.assertFalse(os.path.exists(self.path("no")))

    def test_a_plan_is_shown_as_its_executable_is(self):
        for options in (["--parallel=pipeline=2", "--micro-batches=4", "--recompute=full", "--precision=bf16", "--optimizer=lamb"],
                        ["--parallel=tensor", "--cluster=lassen:nodes=1"], ["--parallel=data", "--mode=infer"]):
            made = run([PDC, model("mlp"), "-o", "mlp", "--batch=16", "--ranks=2", "--plan-out=plan.mlir", *options], self.folder)
            self.assertEqual(made.code, 0, str(made))
            of_executable, of_plan = (json.loads(run([PDC, "plan", name, "--format=json"], self.folder).out)
                                      for name in ("mlp", "plan.mlir"))
            self.assertEqual(of_plan["search"]["method"], "given")
            for key in ("model", "batch", "ranks", "precision", "optimizer", "parallel", "predicted", "machine", "mesh", "stages"):
                self.assertEqual(of_plan[key], of_executable[key], key)
            for found, expected in zip(of_plan["layouts"], of_executable["layouts"], strict=True):
                self.assertEqual(found, expected)
        drawn = run([PDC, "plan", "plan.mlir", "--show=fc1.weight"], self.folder)
        self.assertIn("mesh data=2", drawn.out)
        self.refuse_pdc("plan", model("mlp"), says="is neither an executable nor a plan (it has no nn.step)")

    def test_plans_with_mistakes_are_told_in_one_line(self):
        made = run([PDC, model("mlp"), "--to=plan", "-o", "plan.mlir", "--batch=8", "--ranks=4",
                    "--parallel=pipeline=2,data=2"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        plan = read(self.path("plan.mlir")).decode()
        for changed, says in (
            (read(model("mlp")).decode(), "is neither an executable nor a plan (it has no nn.step)"),
            (plan[:len(plan) // 2], "is neither an executable nor a plan ("),
            (plan.replace('nn.role = "parameter"', 'nn.role = "parametre"', 1), "expected one of parameter"),
            (plan.replace('dist.schedule = "1f1b"', 'dist.schedule = "spiral"'), "there is no schedule 'spiral'"),
            (plan.replace("dist.micro_batches = 2", "dist.micro_batches = 8"), "batch of 8"),
        ):
            with self.subTest(says=says):
                write(self.path("changed.mlir"), changed.encode())
                result = self.refuse_pdc("simulate", "changed.mlir", "--cluster=local", says=["changed.mlir:", says])
                self.assertEqual(len(result.err.splitlines()), 1, str(result))


if __name__ == "__main__":
    main()
