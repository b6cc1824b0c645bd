#!/usr/bin/env python3
"""A pipeline of stages with 2, 1 and 1 ranks under mpiexec does what one rank does."""

import json
import os

from support import PDC, EndToEndTest, losses, main, model, read, read_safetensors, run, text_file, write

BATCH = 7  # uneven micro-batches
ADAM = "--optimizer=adam"
STAGES = ("--parallel=pipeline=2:1:1", "--micro-batches=3", "--schedule=1f1b", ADAM)

# Much work and few parameters, before little work and many.
WIDE_HEAD = b"""
nn.block @layer(%x: tensor<?x32x64xf32>) -> tensor<?x32x64xf32> {
  %w = nn.param "w" init(kaiming) : tensor<64x64xf32>
  %y = nn.linear %x, %w : (tensor<?x32x64xf32>, tensor<64x64xf32>) -> tensor<?x32x64xf32>
  %z = nn.tanh %y : tensor<?x32x64xf32>
  nn.return %z : tensor<?x32x64xf32>
}
nn.model @wide_head(%x: tensor<?x32x64xf32>) -> (loss: tensor<f32>) {
  %y = nn.repeat 6 @layer "h" (%x) : (tensor<?x32x64xf32>) -> tensor<?x32x64xf32>
  %pooled = nn.reduce_mean %y {axes = array<i64: 1>} : (tensor<?x32x64xf32>) -> tensor<?x64xf32>
  %w = nn.param "head" init(kaiming) : tensor<64x2048xf32>
  %head = nn.linear %pooled, %w : (tensor<?x64xf32>, tensor<64x2048xf32>) -> tensor<?x2048xf32>
  %loss = nn.reduce_mean %head {axes = array<i64: 0, 1>} : (tensor<?x2048xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
"""
# Slow links, and devices that are slow enough for small work to take time.
TWO_NODES = b"""
name: two
devices:
  slow: {memory: 16 GB, peak: {f32: 2e9}, memory_bandwidth: 200 GB/s, launch: 1 us}
nodes:
  - {count: 2, device: slow, devices: 2, host: {memory: 64 GB, memory_bandwidth: 200 GB/s, cores: 8, link: {latency: 5 us, bandwidth: 12 GB/s}},
     links: [{name: bus, members: 2, latency: 3 us, bandwidth: 100 MB/s}]}
network: [{name: ethernet, members: 2, latency: 30 us, bandwidth: 100 MB/s}]
"""


class UnequalStages(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def train(self, executable, ranks, steps, *options):
        self.succeed(executable, ranks, "train", f"--data={self.text}", f"--steps={steps}", "--lr=0.01", *options)

    def one_rank(self):
        return self.executable("gpt_tiny", 1, BATCH, ADAM)

    def stages(self):
        return self.executable("gpt_tiny", 4, BATCH, *STAGES)

    def test_training_resumes_from_checkpoints_of_the_whole_model(self):
        self.train(self.one_rank(), 1, 4, "--log=one.jsonl", "--checkpoint=one", "--every=4")
        self.train(self.stages(), 4, 2, "--checkpoint=many", "--every=2", "--log=many.jsonl")
        self.train(self.stages(), 4, 4, "--checkpoint=many", "--every=2", "--resume", "--log=many.jsonl")
        for one, many in zip(losses(self.path("one.jsonl")), losses(self.path("many.jsonl")), strict=True):
            self.assertAlmostEqual(many, one, delta=1e-5 * one)
        # A table of two stages is there once, all of it.
        for file in ("model.safetensors", "optimizer.safetensors"):
            _, one = read_safetensors(self.path(f"one/step-00000004/{file}"))
            _, many = read_safetensors(self.path(f"many/step-00000004/{file}"))
            self.assertEqual({name: tensor[:2] for name, tensor in one.items()},
                             {name: tensor[:2] for name, tensor in many.items()})
        texts = [self.succeed(executable, ranks, "eval", f"--data={self.text}", "--checkpoint=many").out
                 for executable, ranks in ((self.one_rank(), 1), (self.stages(), 4))]
        numbers = [[float(word) for word in text.replace(",", " ").split() if word.replace(".", "", 1).isdigit()]
                   for text in texts]
        self.assertGreater(len(numbers[0]), 0, texts[0])
        for one, many in zip(*numbers, strict=True):
            self.assertAlmostEqual(one, many, delta=1e-3)

    def test_verify(self):
        self.succeed(self.stages(), 4, "verify", "--steps=2")

    def test_a_plan_that_was_written_is_the_same_when_it_is_read(self):
        planned = self.path("planned")
        made = run([PDC, model("gpt_tiny"), "-o", planned, f"--batch={BATCH}", "--ranks=4", *STAGES, "--plan-out=plan.mlir",
                    "--report=first.json"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        again = run([PDC, model("gpt_tiny"), "-o", self.path("read"), f"--batch={BATCH}", ADAM, "--plan-in=plan.mlir",
                     "--plan-out=again.mlir", "--report=second.json"], self.folder)
        self.assertEqual(again.code, 0, str(again))
        self.assertEqual(read(self.path("plan.mlir")), read(self.path("again.mlir")))
        first, second = (json.loads(read(self.path(file))) for file in ("first.json", "second.json"))
        for key in ("ranks", "stages", "layouts", "predicted", "parallel"):
            self.assertEqual(first[key], second[key], key)
        for executable in (planned, self.path("read")):
            self.train(executable, 4, 3, f"--log={executable}.jsonl")
        self.assertEqual(losses(planned + ".jsonl"), losses(self.path("read.jsonl")))
        # A stage's mesh that is not there.
        with open(self.path("broken.mlir"), "wb") as file:
            file.write(read(self.path("plan.mlir")).replace(b"dist.stage_meshes = [@mesh,", b"dist.stage_meshes = [@mash,"))
        refused = run([PDC, model("gpt_tiny"), "-o", self.path("no"), f"--batch={BATCH}", ADAM, "--plan-in=broken.mlir"],
                      self.folder)
        self.assertNotEqual(refused.code, 0)
        self.assertIn("names @mash as the mesh of a stage, which is no dist.mesh of the plan", refused.err)

    def test_the_plan_tells_stages_meshes_and_messages(self):
        report = json.loads(run([PDC, "plan", self.stages(), "--format=json"]).out)
        self.assertEqual([stage["ranks"] for stage in report["stages"]], [[0, 1], [2], [3]])
        self.assertEqual([stage["mesh"] for stage in report["stages"]],
                         [[{"axis": "data", "size": 2}], [{"axis": "data", "size": 1}], [{"axis": "data", "size": 1}]])
        # The table is that of the embedding, not a layer of the last stage.
        self.assertIn("wte", report["stages"][0]["layers"])
        self.assertNotIn("wte", report["stages"][2]["layers"])
        kinds = {row["kind"] for row in report["collectives"]}
        self.assertLessEqual({"send", "receive", "all_reduce"}, kinds)
        messages = {tuple(row["axes"]): row for row in report["communication"] if row["kind"] == "send"}
        self.assertIn(("stage 0 to 1",), messages)
        self.assertIn(("stage 2 to 1",), messages)
        for row in messages.values():
            self.assertGreater(row["bytes"], 0)
            self.assertIn("computes with it", row["why"])
        table = run([PDC, "plan", self.stages()]).out
        self.assertIn("stage 0: ranks 0-1, ", table)
        self.assertIn("mesh data=2", table)

    def test_the_search_gives_stages_the_ranks_that_suit_them(self):
        write(self.path("wide_head.mlir"), WIDE_HEAD)
        write(self.path("two.yaml"), TWO_NODES)
        executable = self.path("found")
        made = run([PDC, "wide_head.mlir", "-o", executable, "--batch=12", "--cluster=two.yaml", ADAM,
                    "--parallel=pipeline=2,data=auto", "--plan-out=plan.mlir", "--report=found.json"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        report = json.loads(read(self.path("found.json")))
        self.assertEqual([stage["ranks"] for stage in report["stages"]], [[0, 1, 2], [3]])
        self.assertEqual(report["stages"][1]["layers"], ["head"])
        self.succeed(executable, 4, "verify", "--steps=2")
        again = run([PDC, "wide_head.mlir", "-o", self.path("read"), "--batch=12", "--cluster=two.yaml", ADAM, "--plan-in=plan.mlir",
                     "--report=read.json"], self.folder)
        self.assertEqual(again.code, 0, str(again))
        second = json.loads(read(self.path("read.json")))
        for key in ("ranks", "stages", "layouts", "predicted", "parallel"):
            self.assertEqual(report[key], second[key], key)

    def test_stages_that_do_not_divide_the_ranks_are_searched(self):
        made = run([PDC, model("gpt_tiny"), "-o", self.path("three"), "--batch=12", "--ranks=3", "--micro-batches=2", ADAM,
                    "--parallel=pipeline=2,data=auto", "--report=three.json"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        stages = json.loads(read(self.path("three.json")))["stages"]
        self.assertEqual(sorted(len(stage["ranks"]) for stage in stages), [1, 2])
        self.succeed(self.path("three"), 3, "verify", "--steps=1")

    def test_verify_where_a_stage_takes_inputs_to_train_and_none_for_gradients(self):
        made = run([PDC, model("bytes"), "-o", self.path("made"), "--batch=8", "--ranks=2", "--parallel=pipeline=2",
                    "--micro-batches=auto", "--plan-out=plan.mlir"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        # The last stage adds up losses; its labels are those of the accuracy, which has no gradient.
        lines = read(self.path("plan.mlir")).decode().splitlines()
        edited = [line if "nn.reduce_sum" in line else line.replace("dist.chunk = 1", "dist.chunk = 0") for line in lines]
        self.assertEqual(["nn.reduce_sum" in line for line in edited if "dist.chunk = 1" in line], [True])
        write(self.path("edited.mlir"), "\n".join(edited).encode())
        again = run([PDC, model("bytes"), "-o", self.path("exe"), "--batch=8", "--plan-in=edited.mlir"], self.folder)
        self.assertEqual(again.code, 0, str(again))
        self.succeed(self.path("exe"), 2, "verify", "--steps=2")

    def test_plans_that_state_a_pipeline_that_cannot_be_are_refused(self):
        made = run([PDC, model("bytes"), "-o", self.path("made"), "--batch=8", "--ranks=2", "--parallel=pipeline=2",
                    "--micro-batches=4", "--plan-out=plan.mlir"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        plan = read(self.path("plan.mlir")).decode()
        for was, becomes, options, says in (
                ("dist.stages = 2", "dist.stages = 0", [], "expected dist.stages = a number from 1 to 65536, an i64, found 0"),
                ("dist.stages = 2", "dist.stages = -2", [], "found -2"),
                ("dist.stages = 2 : i64", "dist.stages = 2 : i32", [], "found 2 : i32"),
                ("dist.micro_batches = 4 : i64", 'dist.micro_batches = "4"', [], 'expected dist.micro_batches = a number'),
                ("dist.micro_batches = 4 : i64, ", "", [], "found none; without a pipeline, remove dist.stages"),
                ('dist.schedule = "1f1b"', 'dist.schedule = ""', [], "the name of a schedule"),
                ('"data" = 1', '"data" = 9223372036854775807', [], "a mesh of at most 65536 ranks"),
                ('"data" = 1', '"data" = 40000', [], "a plan for at most 65536 ranks, found 80000"),
                ("", "", ["--micro-batches=2"], "--micro-batches=2, but it has 4"),
                ("", "", ["--schedule=gpipe"], "--schedule=gpipe, but it has 1f1b")):
            with self.subTest(becomes=becomes, options=options):
                self.assertIn(was, plan)
                write(self.path("edited.mlir"), plan.replace(was, becomes).encode() if was else plan.encode())
                self.refuse_pdc(model("bytes"), "-o", self.path("no"), "--batch=8", "--plan-in=edited.mlir", *options,
                                says=["--plan-in=edited.mlir", says])
                self.assertFalse(os.path.exists(self.path("no")))

    def test_stages_that_cannot_be_are_refused(self):
        for parallel, says in (("pipeline=2:1", "its stages have 3 ranks together, but --ranks=4"),
                               ("pipeline=3:1,tensor=2:1", "stage 0 has 3 ranks")):
            result = run([PDC, model("gpt_tiny"), "-o", self.path("x"), "--batch=8", "--ranks=4", f"--parallel={parallel}"])
            self.assertNotEqual(result.code, 0)
            self.assertIn(says, result.err)
        result = run([PDC, model("gpt_tiny"), "-o", self.path("x"), "--batch=4", "--ranks=4", "--parallel=pipeline=3:1",
                      "--micro-batches=2"])
        self.assertNotEqual(result.code, 0)
        self.assertIn("stage 0 splits over 3 ranks", result.err)


if __name__ == "__main__":
    main()
