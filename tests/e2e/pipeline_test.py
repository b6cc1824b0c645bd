#!/usr/bin/env python3
"""Pipelines and gradient accumulation under mpiexec: what one rank does, the ranks of a pipeline do together."""

import json
import os

from support import PDC, EndToEndTest, losses, main, model, npy, read, read_npy, read_safetensors, run, text_file, write

BATCH = 7  # uneven micro-batches
ADAM = "--optimizer=adam"
TWO_STAGES = ("--parallel=pipeline=2", "--micro-batches=3", "--schedule=1f1b", ADAM)

STACK = b"""
nn.block @layer(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = nn.param "w" init(kaiming) : tensor<64x64xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %z = nn.tanh %y : tensor<?x64xf32>
  nn.return %z : tensor<?x64xf32>
}
nn.model @stack(%x: tensor<?x64xf32>) -> (loss: tensor<f32>) {
  %y = nn.repeat 16 @layer "h" (%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %loss = nn.reduce_mean %y {axes = array<i64: 0, 1>} : (tensor<?x64xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
"""
CLOSE = b"""
name: close
devices: {slow: {memory: 16 GB, peak: {f32: 1e10}, memory_bandwidth: 2 TB/s, launch: 100 ns}}
nodes:
  - {count: 1, device: slow, devices: 2, host: {memory: 64 GB, cores: 2, link: {latency: 1 us, bandwidth: 12 GB/s}},
     links: [{name: bus, members: 2, latency: 100 ns, bandwidth: 900 GB/s}]}
"""


def largest_difference(a, b):
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


class Pipeline(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def train(self, executable, ranks, steps, *options):
        self.succeed(executable, ranks, "train", f"--data={self.text}", f"--steps={steps}", "--lr=0.01", *options)

    def one_rank(self):
        return self.executable("bytes", 1, BATCH, ADAM)

    def two_stages(self):
        return self.executable("bytes", 2, BATCH, *TWO_STAGES)

    def assert_like_one_rank(self, executable, ranks):
        self.train(self.one_rank(), 1, 12, "--log=one")
        self.train(executable, ranks, 12, "--log=many")
        for one, many in zip(losses(self.path("one")), losses(self.path("many")), strict=True):
            self.assertAlmostEqual(many, one, delta=1e-5 * one)

    def test_two_stages_lose_as_one_rank_does(self):
        self.assert_like_one_rank(self.two_stages(), 2)

    def test_stages_of_two_ranks_lose_as_one_rank_does(self):
        self.assert_like_one_rank(
            self.executable("bytes", 4, BATCH, "--parallel=pipeline=2,data=2", "--micro-batches=2", "--schedule=zb", ADAM), 4)

    def test_an_interleaved_pipeline_is_searched_run_and_kept(self):
        # Links that take nothing beside the work: the least bubble is best.
        write(self.path("close.yaml"), CLOSE)
        write(self.path("stack.mlir"), STACK)
        made = run([PDC, "stack.mlir", "-o", self.path("found"), "--batch=64", "--cluster=close.yaml", ADAM, "--micro-batches=2",
                    "--parallel=pipeline=2,data=1", "--schedule=auto", "--plan-out=plan.mlir", "--report=found.json"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        again = run([PDC, "stack.mlir", "-o", self.path("kept"), "--batch=64", "--cluster=close.yaml", ADAM, "--plan-in=plan.mlir",
                     "--report=kept.json"], self.folder)
        self.assertEqual(again.code, 0, str(again))
        found, kept = (json.loads(read(self.path(f"{name}.json"))) for name in ("found", "kept"))
        self.assertRegex(found["parallel"]["schedule"], "^interleaved:chunks=[248]$")
        for key in ("ranks", "stages", "layouts", "predicted", "parallel"):
            self.assertEqual(found[key], kept[key], key)
        for executable in ("found", "kept"):
            self.succeed(self.path(executable), 2, "verify", "--steps=2")

    def test_accumulated_gradients_are_those_of_the_batch(self):
        self.assert_like_one_rank(self.executable("bytes", 1, BATCH, "--micro-batches=4", ADAM), 1)

    def test_a_checkpoint_is_that_of_the_whole_model_and_resumes(self):
        self.train(self.one_rank(), 1, 6, "--checkpoint=one", "--every=6")
        self.train(self.two_stages(), 2, 3, "--checkpoint=two", "--every=3")
        self.train(self.two_stages(), 2, 6, "--checkpoint=two", "--every=3", "--resume")
        for file in ("model.safetensors", "optimizer.safetensors"):
            _, one = read_safetensors(self.path(f"one/step-00000006/{file}"))
            _, two = read_safetensors(self.path(f"two/step-00000006/{file}"))
            self.assertEqual({name: tensor[:2] for name, tensor in one.items()},
                             {name: tensor[:2] for name, tensor in two.items()})

    def test_a_checkpoint_of_a_pipeline_goes_on_on_one_rank(self):
        self.train(self.two_stages(), 2, 3, "--checkpoint=c", "--every=3")
        self.train(self.one_rank(), 1, 6, "--checkpoint=c", "--every=3", "--resume", "--log=resumed")
        self.train(self.one_rank(), 1, 6, "--log=whole")
        resumed = [json.loads(line) for line in read(self.path("resumed")).splitlines()]
        self.assertEqual([step["step"] for step in resumed], [4, 5, 6])
        for whole, step in zip(losses(self.path("whole"))[3:], resumed, strict=True):
            self.assertAlmostEqual(step["loss"], whole, delta=1e-4 * whole)

    def test_eval_and_infer_give_what_one_rank_gives(self):
        self.train(self.two_stages(), 2, 4, "--checkpoint=c", "--every=4")
        evaluations = [self.succeed(executable, ranks, "eval", f"--data={self.text}", "--checkpoint=c").out
                       for executable, ranks in ((self.one_rank(), 1), (self.two_stages(), 2))]
        numbers = [[float(word) for word in text.replace(",", " ").split() if word.replace(".", "", 1).isdigit()]
                   for text in evaluations]
        self.assertGreater(len(numbers[0]), 0, evaluations[0])
        self.assertLess(largest_difference(*numbers), 1e-3, str(evaluations))
        npy(self.path("x.npy"), "i", (10, 16), [(7 * i) % 256 for i in range(160)])
        outputs = []
        for executable, ranks in ((self.one_rank(), 1), (self.two_stages(), 2)):
            self.succeed(executable, ranks, "infer", "--input=x.npy", "--output=y.npy", "--checkpoint=c")
            outputs.append(read_npy(self.path("y.npy")))
        self.assertEqual(outputs[0][0], outputs[1][0])
        self.assertLess(largest_difference(outputs[0][1], outputs[1][1]), 1e-4)

    def assert_resumes_bit_for_bit(self, executable, ranks):
        self.train(executable, ranks, 4, "--checkpoint=whole", "--every=4")
        self.train(executable, ranks, 2, "--checkpoint=parts", "--every=2")
        self.train(executable, ranks, 4, "--checkpoint=parts", "--every=2", "--resume")
        for file in ("model.safetensors", "optimizer.safetensors"):
            self.assertEqual(*(read(self.path(f"{name}/step-00000004/{file}")) for name in ("whole", "parts")), file)

    def test_copies_of_the_model_lose_as_one_rank_does_and_resume(self):
        executable = self.executable("bytes", 2, BATCH, "--parallel=bidirectional", "--micro-batches=4", ADAM)
        self.assert_like_one_rank(executable, 2)
        self.succeed(executable, 2, "verify", "--steps=2")
        self.assert_resumes_bit_for_bit(executable, 2)

    def test_a_message_driven_order_loses_as_one_rank_does(self):
        executable = self.executable("bytes", 2, BATCH, "--parallel=pipeline=2", "--micro-batches=3",
                                     "--schedule=message-driven:in-flight=1", ADAM)
        self.assert_like_one_rank(executable, 2)
        self.assertIn("Schedule message-driven:in-flight=1: 3 micro-batches", run([PDC, "plan", executable]).out)

    def test_a_stream_learns_and_resumes(self):
        executable = self.executable("bytes", 2, BATCH, "--parallel=pipedream", "--micro-batches=3", ADAM)
        self.train(executable, 2, 12, "--log=many")
        found = losses(self.path("many"))
        self.assertLess(found[-1], found[0] - 0.5, found)
        self.succeed(executable, 2, "verify", "--steps=2")
        self.assert_resumes_bit_for_bit(executable, 2)
        # What the last step left is the same version on every rank: one rank goes on with it.
        self.train(self.one_rank(), 1, 5, "--checkpoint=parts", "--every=1", "--resume")
        self.assertIn("Schedule pipedream: 3 micro-batches", run([PDC, "plan", executable]).out)

    def test_verify_and_bench(self):
        self.succeed(self.two_stages(), 2, "verify", "--steps=2")
        self.succeed(self.executable("resnet_tiny", 2, 8, "--parallel=gpipe", "--micro-batches=3"), 2, "verify", "--steps=2")
        self.succeed(self.two_stages(), 2, "bench", "--steps=3", "--json=b.json")
        self.assertEqual(len(json.loads(read(self.path("b.json")))["step_times"]), 3)

    def compile_bytes(self, executable, *options):
        return run([PDC, model("bytes"), "-o", executable, f"--batch={BATCH}", ADAM, *options], self.folder)

    def search(self):
        """An executable of two stages whose cut is searched, and its plan's text."""
        result = self.compile_bytes("searched", "--ranks=2", "--parallel=pipeline=2", "--micro-batches=auto",
                                    "--schedule=auto", "--plan-out=plan.mlir")
        self.assertEqual(result.code, 0, str(result))
        return read(self.path("plan.mlir")).decode()

    def test_a_searched_pipeline_is_kept_as_a_plan(self):
        plan = self.search()
        for word in ("dist.stages = 2", "dist.micro_batches = ", "dist.schedule = ", "dist.chunk = 0", "dist.chunk = 1"):
            self.assertIn(word, plan)
        result = self.compile_bytes("kept", "--plan-in=plan.mlir")
        self.assertEqual(result.code, 0, str(result))
        first, second = (json.loads(run([PDC, "plan", self.path(name), "--format=json"]).out) for name in ("searched", "kept"))
        self.assertEqual(first["parallel"], second["parallel"])
        self.assertEqual([stage["layers"] for stage in first["stages"]], [stage["layers"] for stage in second["stages"]])
        self.assertLessEqual(first["search"]["lower_bound"], first["search"]["cost"])
        self.succeed(self.path("kept"), 2, "verify", "--steps=2")

    def test_where_there_is_no_pipeline_or_none_fits_it_is_told(self):
        for options, says in ((("--micro-batches=8",), "the search finds no pipeline"),
                              # By what the search counts, and, of an executable, by its arenas.
                              (("--micro-batches=auto", "--memory-limit=1000", "--to=plan"),
                               "of all pipelines the one that comes closest"),
                              (("--micro-batches=auto", "--memory-limit=1000"),
                               "of those that were searched, the one that comes closest (mesh pipeline=2 data=1) needs ")):
            result = self.compile_bytes("exe", "--ranks=2", "--parallel=pipeline=auto", *options)
            self.assertNotEqual(result.code, 0)
            self.assertIn(says, result.err)

    def test_a_plan_with_chunks_that_are_none_is_refused(self):
        plan = self.search()
        for broken, says in ((plan.replace("dist.chunk = 1", "dist.chunk = 0"), "nothing to do for one of its 2 chunks"),
                             (plan.replace("dist.chunk = 1", "dist.chunk = 7"), "is planned for chunk 7")):
            with open(self.path("broken.mlir"), "w") as file:
                file.write(broken)
            result = self.compile_bytes("exe", "--plan-in=broken.mlir")
            self.assertNotEqual(result.code, 0)
            self.assertIn(says, result.err)

    def test_the_plan_tells_stages_and_schedule(self):
        report = json.loads(run([PDC, "plan", self.two_stages(), "--format=json"]).out)
        parallel = report["parallel"]
        self.assertEqual((parallel["pipeline"], parallel["data"], parallel["micro_batches"], parallel["schedule"]),
                         (2, 1, 3, "1f1b"))
        self.assertEqual([stage["ranks"] for stage in report["stages"]], [[0], [1]])
        self.assertEqual(report["stages"][0]["layers"][0], "table")
        self.assertEqual(report["stages"][1]["layers"], ["head"])
        self.assertGreater(report["predicted"]["bubble_fraction"], 0)
        self.assertLess(report["predicted"]["bubble_fraction"], 1)
        self.assertGreater(report["predicted"]["comm_bytes"]["p2p"], 0)
        table = run([PDC, "plan", self.two_stages()]).out
        self.assertIn("Schedule 1f1b: 3 micro-batches", table)
        self.assertIn("stage 1: rank 1,", table)

    def test_inference_tells_that_the_batch_goes_through_as_a_whole(self):
        executable = self.executable("bytes", 2, BATCH, "--parallel=1f1b", "--micro-batches=3", "--mode=infer")
        parallel = json.loads(run([PDC, "plan", executable, "--format=json"]).out)["parallel"]
        self.assertEqual((parallel["pipeline"], parallel["micro_batches"], parallel["schedule"]), (2, 1, "forward"))


if __name__ == "__main__":
    main()
