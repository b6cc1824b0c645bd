#!/usr/bin/env python3
"""Pipelines whose replicas take whole micro-batches in turn, and how pdc chooses between that and parts of each."""

import json
import os

from support import PDC, EndToEndTest, losses, main, model, read, read_safetensors, run, text_file

ADAM = "--optimizer=adam"
TURNS = ("--parallel=pipeline=2:1", "--micro-batches=4", "--schedule=1f1b:round-robin", ADAM)


class RoundRobin(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def train(self, executable, ranks, steps, *options):
        self.succeed(executable, ranks, "train", f"--data={self.text}", f"--steps={steps}", "--lr=0.01", *options)

    def pdc(self, *options, name="gpt_tiny"):
        return run([PDC, model(name), "-o", self.path("made"), *options], self.folder)

    def report_of(self, *options, name="gpt_tiny"):
        made = self.pdc(*options, "--report=report.json", name=name)
        self.assertEqual(made.code, 0, str(made))
        return json.loads(read(self.path("report.json")))

    def test_trains_and_resumes_as_one_rank(self):
        one, turns = self.executable("gpt_tiny", 1, 7, ADAM), self.executable("gpt_tiny", 3, 7, *TURNS)
        self.train(one, 1, 4, "--log=one.jsonl", "--checkpoint=one", "--every=4")
        self.train(turns, 3, 2, "--checkpoint=many", "--every=2", "--log=many.jsonl")
        self.train(turns, 3, 4, "--checkpoint=many", "--every=2", "--resume", "--log=many.jsonl")
        for alone, many in zip(losses(self.path("one.jsonl")), losses(self.path("many.jsonl")), strict=True):
            self.assertAlmostEqual(many, alone, delta=1e-5 * alone)
        # Replicas and the table of two stages are there once.
        for file in ("model.safetensors", "optimizer.safetensors"):
            _, alone = read_safetensors(self.path(f"one/step-00000004/{file}"))
            _, many = read_safetensors(self.path(f"many/step-00000004/{file}"))
            self.assertEqual({name: tensor[:2] for name, tensor in alone.items()},
                             {name: tensor[:2] for name, tensor in many.items()})
        self.train(one, 1, 6, "--checkpoint=many", "--every=2", "--resume")
        self.succeed(turns, 3, "verify", "--steps=2")
        self.succeed(turns, 3, "eval", f"--data={self.text}", "--checkpoint=many")

    def test_stages_with_different_numbers_of_replicas_do_what_is_faster(self):
        many = self.report_of("--batch=16", "--parallel=pipeline=2:1", "--micro-batches=16", "--ranks=3")
        # Micro-batches of one sample cannot be split.
        self.assertEqual(many["parallel"]["schedule"], "1f1b:round-robin")
        self.assertEqual(many["exchange"]["chosen"], "round-robin")
        self.assertIsNone(many["exchange"]["step_time"]["split"])
        self.assertEqual(many["predicted"]["step_time"], many["exchange"]["step_time"]["round-robin"])
        # With as few as there are replicas each has one, and the pipeline is never full.
        few = self.report_of("--batch=64", "--parallel=pipeline=2:1", "--micro-batches=2", "--ranks=3", "--cluster=dgx_h100")
        times = few["exchange"]["step_time"]
        self.assertLess(times["split"], times["round-robin"])
        self.assertEqual(few["exchange"]["chosen"], "split")
        self.assertEqual(few["parallel"]["schedule"], "1f1b")
        self.assertEqual(few["predicted"]["step_time"], times["split"])
        # Layouts that are searched are those of either way, and there may be none for one.
        searched = self.report_of("--batch=8", "--parallel=layouts,pipeline=2:1", "--micro-batches=8", "--ranks=3")
        self.assertEqual(searched["exchange"]["chosen"], "round-robin")
        self.assertEqual(searched["stages"][0]["mesh"], [{"axis": "data", "size": 2}])
        zero = self.report_of("--batch=8", "--parallel=pipeline=2:1,zero=1", "--micro-batches=8", "--ranks=3")
        self.assertEqual(zero["exchange"]["chosen"], "round-robin")
        self.assertIsNone(zero["exchange"]["step_time"]["split"])
        # What is asked for is done, and nothing is compared.
        asked = self.report_of("--batch=64", "--parallel=pipeline=2:1", "--micro-batches=2", "--ranks=3", "--cluster=dgx_h100",
                               "--schedule=1f1b:round-robin")
        self.assertIsNone(asked["exchange"])
        self.assertEqual(asked["predicted"]["step_time"], times["round-robin"])

    def test_the_plan_tells_what_was_chosen(self):
        options = ("--batch=16", "--parallel=pipeline=2:1", "--micro-batches=8", "--ranks=3", ADAM)
        made = self.pdc(*options, "--plan-out=plan.mlir", "--report=first.json")
        self.assertEqual(made.code, 0, str(made))
        table = run([PDC, "plan", self.path("made")]).out
        self.assertRegex(table, r"replicas (split each micro-batch|take whole micro-batches in turn), predicted")
        # A plan that is read does what it states, also where the option leaves it open.
        for schedule in ((), ("--schedule=1f1b",)):
            again = self.pdc("--batch=16", ADAM, "--plan-in=plan.mlir", "--plan-out=again.mlir", "--report=second.json", *schedule)
            self.assertEqual(again.code, 0, str(again))
            self.assertEqual(read(self.path("plan.mlir")), read(self.path("again.mlir")))
            first, second = (json.loads(read(self.path(file))) for file in ("first.json", "second.json"))
            for key in ("ranks", "stages", "layouts", "predicted", "parallel", "exchange"):
                self.assertEqual(first[key], second[key], key)
        other = self.pdc("--batch=16", ADAM, "--plan-in=plan.mlir", "--schedule=gpipe:split")
        self.assertNotEqual(other.code, 0)
        self.assertIn("--schedule=gpipe:split, but it has 1f1b", other.err)

    def test_pipelines_are_searched_for_replicas_that_take_turns(self):
        found = self.report_of("--batch=16", "--parallel=pipeline=2,data=auto,tensor=auto", "--micro-batches=auto", "--ranks=8",
                               "--cluster=dgx_h100", "--schedule=1f1b:round-robin")
        self.assertEqual(found["parallel"]["schedule"], "1f1b:round-robin")
        self.assertGreaterEqual(found["parallel"]["micro_batches"], found["parallel"]["data"])

    def test_what_cannot_take_turns_is_refused(self):
        for options, why in (
            (("--parallel=pipeline=3:1", "--micro-batches=2", "--ranks=4", "--schedule=1f1b:round-robin"),
             "stage 0 has 3 replicas, and there are 2 micro-batches: replicas that take them in turn need at least one each"),
            (("--parallel=pipeline=2,data=2", "--micro-batches=2", "--ranks=4", "--schedule=zb:round-robin"),
             "only replicas of gpipe, 1f1b and pipedream can take whole micro-batches in turn"),
            (("--parallel=pipeline=2,data=2", "--micro-batches=2", "--ranks=4", "--schedule=1f1b:sometimes"),
             "--schedule=1f1b:sometimes: expected round-robin or split after the colon, or nothing"),
            (("--parallel=pipeline=2:1", "--micro-batches=5", "--ranks=3", "--schedule=pipedream:round-robin"),
             "stage 0 has 2 replicas, and there are 5 mini-batches: an update is made of one of each replica"),
        ):
            refused = self.pdc("--batch=10", *options)
            self.assertNotEqual(refused.code, 0, options)
            self.assertIn(why, refused.err)

    def test_streams_of_replicas_train(self):
        stream = self.executable("lenet", 3, 8, "--parallel=pipeline=2:1", "--micro-batches=8", "--schedule=pipedream:round-robin")
        bench = self.succeed(stream, 3, "bench", "--steps=3")
        self.assertIn("median step", bench.out)


if __name__ == "__main__":
    main()
