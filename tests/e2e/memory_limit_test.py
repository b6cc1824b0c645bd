#!/usr/bin/env python3
"""--memory-limit on searched plans: what is compiled fits to the byte, or is refused with the plan that comes closest."""

import json
import re

from support import PDC, EndToEndTest, main, model, read, run

RANKS, BATCH = 4, 16


class MemoryLimit(EndToEndTest):

    def compile(self, *options):
        return run([PDC, model("lenet"), "-o", "exe", f"--ranks={RANKS}", f"--batch={BATCH}", "--parallel=auto",
                    "--report=report.json", *options], self.folder)

    def peak(self):
        return max(json.loads(read(self.path("report.json")))["predicted"]["peak_memory"])

    def unlimited_peak(self):
        result = self.compile()
        self.assertEqual(result.code, 0, str(result))
        return self.peak()

    def test_a_plan_whose_arenas_exceed_the_limit_is_searched_again(self):
        # The search counts less than the arenas hold, so that its first plan stays what it is.
        limit = self.unlimited_peak() - 1
        result = self.compile(f"--memory-limit={limit}")
        self.assertEqual(result.code, 0, str(result))
        self.assertLessEqual(self.peak(), limit)
        self.succeed(self.path("exe"), RANKS, "verify", "--steps=1")

    def test_what_verify_alone_runs_does_not_count(self):
        options = ["--ranks=2", f"--batch={BATCH}", "--parallel=data"]
        made = run([PDC, model("lenet"), "-o", "exe", "--report=report.json", *options], self.folder)
        self.assertEqual(made.code, 0, str(made))
        for limit, fits in ((self.peak(), True), (self.peak() - 1, False)):
            result = run([PDC, model("lenet"), "-o", "exe", f"--memory-limit={limit}", *options], self.folder)
            self.assertEqual(result.code == 0, fits, str(result))

    def test_inference_of_a_whole_batch_does_not_count_for_training(self):
        limit = 20 << 20
        options = ["--batch=32", "--ranks=2", "--parallel=pipeline=2", "--schedule=interleaved", f"--memory-limit={limit}"]
        made = run([PDC, model("gpt_tiny"), "-o", "exe", "--report=report.json", "--micro-batches=8", "--recompute=auto", *options],
                   self.folder)
        self.assertEqual(made.code, 0, str(made))
        needs = re.search(rf"the command `infer` needs (\d+) bytes, (\d+) more than --memory-limit={limit}", made.err)
        self.assertTrue(needs, str(made))
        self.assertEqual(int(needs[1]), limit + int(needs[2]))
        self.assertLessEqual(self.peak(), limit)
        self.succeed(self.path("exe"), 2, "bench", "--steps=1", "--json=bench.json")
        self.assertLessEqual(max(json.loads(read(self.path("bench.json")))["peak_memory"]), limit)
        # Where inference is what is compiled, its need is what counts.
        refused = run([PDC, model("gpt_tiny"), "-o", "infer", "--mode=infer", *options], self.folder)
        self.assertNotEqual(refused.code, 0, str(refused))
        self.assertRegex(refused.err, rf"bytes for 'infer' on stage 0 .* more than --memory-limit={limit}")

    def test_of_a_few_layouts_the_closest_plan_may_be_the_one_without_a_limit(self):
        options = ["--ranks=8", "--batch=64", "--layout=batch:data"]
        compile = lambda *more: run([PDC, model("mlp"), "-o", "exe", "--report=report.json", *options, *more], self.folder)
        unlimited = compile()
        self.assertEqual(unlimited.code, 0, str(unlimited))
        peak = self.peak()
        refused = compile(f"--memory-limit={peak // 2}")
        self.assertNotEqual(refused.code, 0, str(refused))
        self.assertLessEqual(int(re.search(r"needs (\d+) bytes", refused.err)[1]), peak, str(refused))

    def test_what_an_error_of_a_search_advises_helps(self):
        options = ["--ranks=4", "--batch=32", "--parallel=zero1"]
        compile = lambda *more: run([PDC, model("gpt_tiny"), "-o", "exe", "--report=report.json", *options, *more], self.folder)
        unlimited = compile()
        self.assertEqual(unlimited.code, 0, str(unlimited))
        limit = f"--memory-limit={self.peak() * 2 // 3}"
        whole = compile(limit)
        self.assertNotEqual(whole.code, 0, str(whole))
        for advice in ("lower --batch", "split it into --micro-batches", "give --recompute=auto", "use more ranks"):
            self.assertIn(advice, whole.err)
        # The search counts the whole batch; whether its plan fits in micro-batches, the arenas say.
        for advice in ("--micro-batches=8", "--recompute=auto"):
            fits = compile(limit, advice)
            self.assertEqual(fits.code, 0, str(fits))

    def test_the_stage_that_does_not_fit_is_named_however_the_pipeline_came_about(self):
        given = ["--parallel=pipeline=2", "--micro-batches=2", "--ranks=2", f"--batch={BATCH}"]
        made = run([PDC, model("lenet"), "-o", "exe", "--plan-out=plan.mlir", "--report=report.json", *given], self.folder)
        self.assertEqual(made.code, 0, str(made))
        needs = json.loads(read(self.path("report.json")))["predicted"]["peak_memory"]
        stage, limit = needs.index(max(needs)), min(needs) // 2
        expected = rf"a rank needs (\d+) bytes for '\w+' on stage {stage} of the pipeline, (\d+) more than --memory-limit={limit}"
        for options in (given, ["--ranks=2", f"--batch={BATCH}", "--plan-in=plan.mlir"]):
            result = run([PDC, model("lenet"), "-o", "exe", f"--memory-limit={limit}", *options], self.folder)
            self.assertNotEqual(result.code, 0, str(result))
            self.assertRegex(result.err, expected)
            needed, missing = map(int, re.search(expected, result.err).groups())
            self.assertEqual(needed, limit + missing)
            self.assertGreaterEqual(needed, max(needs))

    def test_where_nothing_fits_the_closest_plan_and_what_it_lacks_are_named(self):
        unlimited = self.unlimited_peak()
        limit = unlimited
        # From what fits down to what does not.
        while True:
            limit = limit * 3 // 4
            result = self.compile(f"--memory-limit={limit}")
            if result.code != 0:
                break
            self.assertLessEqual(self.peak(), limit)
        needs = re.search(r"needs? (?:least needs )?(\d+)(?: bytes for '\w+')?, (\d+) more", result.err)
        self.assertTrue(needs, str(result))
        self.assertEqual(int(needs[1]), limit + int(needs[2]), str(result))
        self.assertRegex(result.err, r"\(mesh \w+=\d")
        self.assertLessEqual(int(needs[1]), unlimited, str(result))

    def test_stages_of_unequal_numbers_of_ranks_that_a_search_found_are_measured_each(self):
        # Seven ranks divide into no stages that are alike; the closest plan has several.
        result = run([PDC, model("gpt_tiny"), "-o", "exe", "--batch=2", "--ranks=7", "--optimizer=lamb",
                      "--memory-limit=287910"], self.folder)
        self.assertEqual(result.code, 1, str(result))
        stages, stage = map(int, re.search(r"\(mesh pipeline=(\d+) .* on stage (\d+) of the pipeline", result.err).groups())
        self.assertLess(stage, stages)
        self.assertLessEqual(len(result.err.splitlines()), 3, result.err)


if __name__ == "__main__":
    main()
