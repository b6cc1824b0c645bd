#!/usr/bin/env python3
"""Recomputation under mpiexec: smaller arenas, and the losses of a step that keeps everything."""

import json
import os

from support import PDC, EndToEndTest, losses, main, model, read, run, text_file, write

TWO_STAGES = ("--parallel=pipeline=2", "--micro-batches=4", "--schedule=1f1b")


class Recomputation(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def plan(self, executable):
        return json.loads(run([PDC, "plan", executable, "--format=json"]).out)

    def losses_of(self, executable, ranks, log):
        self.succeed(executable, ranks, "train", f"--data={self.text}", "--steps=4", "--lr=0.003", f"--log={log}")
        return losses(self.path(log))

    def assert_same_losses_in_less(self, ranks, batch, recompute, *options):
        keeps = self.executable("gpt_tiny", ranks, batch, *options)
        again = self.executable("gpt_tiny", ranks, batch, f"--recompute={recompute}", *options)
        for expected, found in zip(self.losses_of(keeps, ranks, "keeps"), self.losses_of(again, ranks, "again"), strict=True):
            self.assertAlmostEqual(found, expected, delta=1e-5 * expected)
        before, after = (sum(self.plan(executable)["predicted"]["peak_memory"]) for executable in (keeps, again))
        self.assertLess(after, before)
        return again

    def test_full_on_one_rank(self):
        executable = self.assert_same_losses_in_less(1, 4, "full")
        self.assertEqual(self.plan(executable)["parallel"]["recompute"], ["full"])
        self.assertIn("Whole batch, recompute full", run([PDC, "plan", executable]).out)
        self.succeed(executable, 1, "verify", "--steps=1")
        # What the plan says is what the run uses.
        self.succeed(executable, 1, "bench", "--steps=2", "--json=b.json")
        measured = json.loads(read(self.path("b.json")))
        self.assertEqual(measured["peak_memory"], self.plan(executable)["predicted"]["peak_memory"])

    def test_a_word_for_each_stage_of_a_pipeline(self):
        executable = self.assert_same_losses_in_less(2, 8, "full,selective", *TWO_STAGES)
        self.assertEqual(self.plan(executable)["parallel"]["recompute"], ["full", "selective"])
        table = run([PDC, "plan", executable]).out
        self.assertRegex(table, "stage 0: .*, recompute full\n")
        self.assertRegex(table, "stage 1: .*, recompute selective\n")
        self.succeed(executable, 2, "verify", "--steps=1")

    def test_without_it_everything_is_kept(self):
        plan = self.plan(self.executable("bytes", 1, 4))
        self.assertEqual(plan["parallel"]["recompute"], ["none"])
        self.assertNotIn("recompute", run([PDC, "plan", self.executable("bytes", 1, 4)]).out)

    def compile_bytes(self, executable, *options):
        return run([PDC, model("bytes"), "-o", executable, "--batch=8", *options], self.folder)

    def test_a_plan_keeps_it(self):
        written = self.compile_bytes("first", "--ranks=2", "--recompute=selective", "--plan-out=plan.mlir", *TWO_STAGES)
        self.assertEqual(written.code, 0, str(written))
        plan = read(self.path("plan.mlir")).decode()
        self.assertIn('dist.recompute = ["selective", "selective"]', plan)
        self.assertEqual(self.compile_bytes("second", "--plan-in=plan.mlir").code, 0)
        first, second = (self.plan(self.path(name)) for name in ("first", "second"))
        self.assertEqual(first["parallel"], second["parallel"])
        self.assertEqual(first["predicted"]["peak_memory"], second["predicted"]["peak_memory"])
        write(self.path("none.mlir"), plan.replace('dist.recompute = ["selective", "selective"], ', "").encode())
        self.assertEqual(self.compile_bytes("third", "--plan-in=none.mlir", "--recompute=none,full").code, 0)
        self.assertEqual(self.plan(self.path("third"))["parallel"]["recompute"], ["none", "full"])

    def test_what_a_plan_cannot_say_is_refused(self):
        self.assertEqual(self.compile_bytes("first", "--ranks=2", "--recompute=full", "--plan-out=plan.mlir", *TWO_STAGES).code, 0)
        plan = read(self.path("plan.mlir")).decode()
        for broken, options, says in (
                (plan.replace('["full", "full"]', '["full"]'), (), "expected a list of 2 of the words"),
                (plan.replace('["full", "full"]', '["full", "some"]'), (), "expected a list of 2 of the words"),
                (plan, ("--recompute=none",), "--recompute says something else")):
            with self.subTest(says=says, options=options):
                write(self.path("broken.mlir"), broken.encode())
                result = self.compile_bytes("exe", "--plan-in=broken.mlir", *options)
                self.assertNotEqual(result.code, 0)
                self.assertIn(says, result.err)


class CompilerRefuses(EndToEndTest):

    def test_words_that_are_none_and_lists_of_another_length(self):
        for options, says in ((["--recompute=all"], ["--recompute=all", "expected none, full or selective, found 'all'"]),
                              (["--recompute=full,"], ["--recompute=full,", "found ''"]),
                              (["--recompute=full,none"], ["2 words, for 1 stage"]),
                              (["--ranks=2", *TWO_STAGES, "--recompute=full,none,full"], ["3 words, for 2 stages"])):
            with self.subTest(options=options):
                self.refuse_pdc(model("bytes"), "-o", self.path("exe"), "--batch=8", *options, says=says)
                self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    main()
