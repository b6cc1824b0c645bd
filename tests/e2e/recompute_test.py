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


class Searched(EndToEndTest):
    """What is computed again is part of the search, where memory is limited."""

    def compiled(self, name, *options):
        path = self.path(name)
        result = run([PDC, model("gpt_tiny"), "-o", path, "--batch=8", *options], self.folder)
        self.assertEqual(result.code, 0, str(result))
        plan = json.loads(run([PDC, "plan", path, "--format=json"]).out)
        return path, plan, max(plan["predicted"]["peak_memory"])

    def assert_fits_by_recomputing(self, ranks, parallel):
        text = text_file(os.path.join(self.folder, "text"))
        keeps, plan, most = self.compiled("keeps", f"--ranks={ranks}", *parallel)
        self.assertEqual(set(plan["parallel"]["recompute"]), {"none"})
        _, _, least = self.compiled("least", f"--ranks={ranks}", "--recompute=full", *parallel)
        self.assertLess(least, most)
        limit = (most + 2 * least) // 3
        again, plan, bytes_found = self.compiled("again", f"--ranks={ranks}", f"--memory-limit={limit}", "--recompute=auto",
                                                 "--plan-out=plan.mlir", *parallel)
        self.assertNotEqual(set(plan["parallel"]["recompute"]), {"none"})
        self.assertLessEqual(bytes_found, limit)
        for executable in (keeps, again):
            self.succeed(executable, ranks, "train", f"--data={text}", "--steps=3", "--lr=0.003", f"--log={executable}.jsonl")
        for one, other in zip(losses(keeps + ".jsonl"), losses(again + ".jsonl"), strict=True):
            self.assertAlmostEqual(other, one, delta=1e-5 * one)
        # The plan is a plan: it says so, and is read without a search.
        self.assertIn("dist.recompute", read(self.path("plan.mlir")).decode())
        _, read_again, _ = self.compiled("read", "--plan-in=plan.mlir")
        self.assertEqual(read_again["parallel"], plan["parallel"])
        self.assertEqual(read_again["predicted"]["peak_memory"], plan["predicted"]["peak_memory"])

    def test_on_one_rank(self):
        self.assert_fits_by_recomputing(1, ["--parallel=data"])

    def test_on_two_stages(self):
        self.assert_fits_by_recomputing(2, TWO_STAGES)

    def assert_finds_what_fits(self, model_name, batch, *options):
        """Whatever fits with one word for all stages fits with those that are found."""
        compile = lambda *more: run([PDC, model(model_name), "-o", self.path("exe"), f"--batch={batch}", *options, *more,
                                     "--report=report.json"], self.folder)
        for word in ("none", "selective", "full"):
            with self.subTest(model=model_name, options=options, word=word):
                made = compile(f"--recompute={word}")
                self.assertEqual(made.code, 0, str(made))
                limit = max(json.loads(read(self.path("report.json")))["predicted"]["peak_memory"])
                found = compile("--recompute=auto", f"--memory-limit={limit}")
                self.assertEqual(found.code, 0, str(found))
                report = json.loads(read(self.path("report.json")))
                self.assertLessEqual(max(report["predicted"]["peak_memory"]), limit)
                # The limit is also for the gradients of `verify`, which the peak does not count.
                if word == "none" and compile("--recompute=none", f"--memory-limit={limit}").code == 0:
                    self.assertEqual(set(report["parallel"]["recompute"]), {"none"})

    def test_numbers_that_are_given_stay_and_what_fits_is_found(self):
        self.assert_finds_what_fits("moe_tiny", 4, "--ranks=1", "--parallel=data")
        self.assert_finds_what_fits("bytes", 8, "--ranks=2", "--parallel=data")
        self.assert_finds_what_fits("gpt_tiny", 4, *TWO_STAGES, "--ranks=2")

    def test_with_schedules_and_stages_that_the_search_does_not_know(self):
        self.assert_finds_what_fits("gpt_tiny", 4, "--ranks=2", "--parallel=pipedream", "--micro-batches=4")
        self.assert_finds_what_fits("gpt_tiny", 8, "--ranks=3", "--parallel=pipeline=2:1", "--micro-batches=2")

    def test_one_rank_takes_micro_batches_where_the_whole_batch_does_not_fit(self):
        _, _, whole = self.compiled("whole", "--ranks=1", "--parallel=data", "--recompute=full")
        _, plan, bytes_found = self.compiled("parts", "--ranks=1", f"--memory-limit={whole - whole // 10}")
        self.assertGreater(plan["parallel"]["micro_batches"], 1)
        self.assertLessEqual(bytes_found, whole - whole // 10)

    def test_of_a_plan_that_is_read(self):
        made = run([PDC, model("gpt_tiny"), "-o", self.path("made"), "--batch=8", "--ranks=2", *TWO_STAGES, "--plan-out=plan.mlir"],
                   self.folder)
        self.assertEqual(made.code, 0, str(made))
        _, _, most = self.compiled("keeps", "--plan-in=plan.mlir")
        _, plan, bytes_found = self.compiled("again", "--plan-in=plan.mlir", "--recompute=auto", f"--memory-limit={most - 1}")
        self.assertNotEqual(set(plan["parallel"]["recompute"]), {"none"})
        self.assertLess(bytes_found, most)

    def test_by_default_where_everything_is_searched(self):
        _, plan, most = self.compiled("keeps", "--ranks=1", "--micro-batches=1")
        self.assertEqual(plan["parallel"]["recompute"], ["none"])
        _, plan, bytes_found = self.compiled("again", "--ranks=1", "--micro-batches=1", f"--memory-limit={most * 3 // 4}")
        self.assertIn(plan["parallel"]["recompute"], (["full"], ["selective"]))
        self.assertLessEqual(bytes_found, most * 3 // 4)
        # Memory is there: nothing is computed again.
        _, plan, _ = self.compiled("free", "--ranks=1", "--micro-batches=1", f"--memory-limit={most}")
        self.assertEqual(plan["parallel"]["recompute"], ["none"])


class CompilerRefuses(EndToEndTest):

    def test_words_that_are_none_and_lists_of_another_length(self):
        for options, says in ((["--recompute=all"], ["--recompute=all", "expected none, full, selective or auto, found 'all'"]),
                              (["--recompute=full,"], ["--recompute=full,", "found ''"]),
                              (["--recompute=full,none"], ["2 words, for 1 stage"]),
                              (["--recompute=full,auto"], ["expected none, full or selective for each stage, found 'auto'"]),
                              (["--ranks=2", *TWO_STAGES, "--recompute=full,none,full"], ["3 words, for 2 stages"])):
            with self.subTest(options=options):
                self.refuse_pdc(model("bytes"), "-o", self.path("exe"), "--batch=8", *options, says=says)
                self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    main()
