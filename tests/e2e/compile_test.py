#!/usr/bin/env python3
"""pdc compiles models, explains its plans, and shows every phase."""

import json
from html.parser import HTMLParser

from support import PDC, EndToEndTest, main, model, read, run


class Tables(HTMLParser):
    """The rows of a page as lists of the text in their cells; `open` is what is left open at its end."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.open, self.text = [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag in ("table", "tr", "td", "th", "div", "span", "p", "h1", "h2", "html"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag, f"{tag} ends at {self.getpos()}"

    def handle_data(self, data):
        self.text += data
        if any(tag in self.open for tag in ("td", "th")):
            self.rows[-1][-1] += data


PHASES = ["model", "specialized", "step", "plan", "partitioned", "fused", "rt", "program"]


class Compile(EndToEndTest):

    def plan(self, executable, *options):
        result = run([PDC, "plan", executable, *options])
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        return result.out

    def check_plan(self, plan, name, ranks, batch):
        """The keys of the contract, with the types that it gives them."""
        self.assertEqual((plan["model"], plan["ranks"], plan["batch"], plan["precision"]), (name, ranks, batch, "f32"))
        parallel = plan["parallel"]
        self.assertEqual(
            {key: parallel[key] for key in ("data", "tensor", "pipeline", "zero", "micro_batches")},
            {"data": ranks, "tensor": 1, "pipeline": 1, "zero": 0, "micro_batches": 1})
        self.assertEqual(parallel["schedule"], "none")  # there is one only with a pipeline
        predicted = plan["predicted"]
        for key in ("step_time", "compute_time", "exposed_comm_time", "bubble_fraction"):
            self.assertGreaterEqual(predicted[key], 0, key)
        self.assertEqual(len(predicted["peak_memory"]), ranks)
        self.assertEqual({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "p2p"},
                         predicted["comm_bytes"].keys())
        self.assertEqual(predicted["comm_bytes"]["all_reduce"] > 0, ranks > 1)
        self.assertLessEqual({"time", "plans_considered", "lower_bound", "gap"}, plan["search"].keys())
        self.assertEqual(sorted(rank for stage in plan["stages"] for rank in stage["ranks"]), list(range(ranks)))
        for stage in plan["stages"]:
            self.assertLessEqual({"ranks", "layers", "time", "memory"}, stage.keys())
        for layout in plan["layouts"]:
            self.assertLessEqual({"value", "dims", "axes", "partial"}, layout.keys())
            self.assertIn(len(layout["dims"]), (0, len(layout["axes"])), layout)  # dimensions may have no names
        self.assertIsInstance(plan["decisions"], list)

    def check_memory(self, name, ranks, batch, *options):
        """The memory that the plan states is the memory that a run uses, to the byte."""
        executable = self.executable(name, ranks, batch, *options)
        plan = json.loads(self.plan(executable, "--format=json"))
        self.check_plan(plan, name, ranks, batch)
        self.succeed(executable, ranks, "bench", "--steps=2", "--warmup=0", "--json=bench.json")
        bench = json.loads(read(self.path("bench.json")))
        self.assertLessEqual({"step_time", "step_times", "samples_per_second", "peak_memory", "predicted_step_time",
                              "predicted_peak_memory"}, bench.keys())
        self.assertEqual(len(bench["step_times"]), 2)
        self.assertEqual(bench["peak_memory"], plan["predicted"]["peak_memory"])
        self.assertEqual(bench["predicted_peak_memory"], plan["predicted"]["peak_memory"])
        return plan

    def test_gpt_tiny_on_one_rank_uses_the_memory_that_its_plan_states(self):
        self.check_memory("gpt_tiny", 1, 2)

    def test_gpt_tiny_on_two_ranks_uses_the_memory_that_its_plan_states(self):
        plan = self.check_memory("gpt_tiny", 2, 3, "--optimizer=adamw")
        names = {layout["value"] for layout in plan["layouts"]}
        self.assertLessEqual({"wte.weight", "h0.attn.qkv.weight", "h3.mlp.proj.bias", "tokens"}, names)

    def test_other_models_use_the_memory_that_their_plans_state(self):
        self.check_memory("resnet_tiny", 2, 4, "--optimizer=momentum")
        self.check_memory("bytes", 3, 4, "--optimizer=lamb")

    def test_the_table_of_a_plan_names_ranks_memory_collectives_and_layouts(self):
        table = self.plan(self.executable("gpt_tiny", 2, 3, "--optimizer=adamw"))
        for text in ("Model gpt_tiny", "2 ranks", "batch 3", "adamw", "Memory per rank", "parameters", "gradients",
                     "activations", "all_reduce", "h*.attn.qkv.weight (4)"):
            self.assertIn(text, table)

    def test_the_report_is_the_plan_that_the_executable_carries(self):
        executable = self.path("exe")
        result = run([PDC, model("bytes"), "-o", executable, "--batch=4", "--ranks=2",
                      f"--report={self.path('report.json')}"])
        self.assertEqual((result.code, result.out, result.err), (0, "", ""), str(result))
        report = json.loads(read(self.path("report.json")))
        self.assertGreater(report["search"]["time"], 0)
        report["search"]["time"] = 0  # no two runs take the same time, and executables do not differ
        self.assertEqual(report, json.loads(self.plan(executable, "--format=json")))

    def test_keeping_a_plan_does_not_change_it(self):
        for name, ranks, options in (("lenet", 2, ["--parallel=data"]),
                                     ("lenet", 4, ["--parallel=pipeline=2,data=2", "--micro-batches=2"]),
                                     ("gpt_tiny", 3, ["--parallel=pipeline=2:1,data=2:1", "--micro-batches=2"])):
            with self.subTest(model=name, options=options):
                made = self.executable(name, ranks, 8, *options)
                kept = self.executable(name, ranks, 8, *options, f"--plan-out={self.path('plan.mlir')}")
                self.assertTrue(read(made) == read(kept), "the executables differ")
                printed = run([PDC, model(name), "--to=plan", "--batch=8", f"--ranks={ranks}", *options])
                self.assertEqual(printed.out.strip(), read(self.path("plan.mlir")).decode().strip())
                again = self.path("again")
                result = run([PDC, model(name), "-o", again, "--batch=8", f"--plan-in={self.path('plan.mlir')}"])
                self.assertEqual(result.code, 0, str(result))
                first, second = (json.loads(self.plan(path, "--format=json")) for path in (kept, again))
                for key in ("ranks", "parallel", "stages", "layouts", "predicted"):
                    self.assertEqual(first[key], second[key], key)
                self.succeed(again, ranks, "verify", "--steps=1")

    def test_a_plan_is_a_page_that_needs_nothing_else(self):
        executable = self.executable("gpt_tiny", 2, 3)
        plan = json.loads(self.plan(executable, "--format=json"))
        page = self.plan(executable, "--format=html")
        tables = Tables(page)
        self.assertIn("gpt_tiny", tables.text)
        for layout in plan["layouts"]:
            self.assertTrue(any(layout["value"] in row for row in tables.rows), layout["value"])
        peaks = [[str(row["rank"]), row["peak_at"]] for row in plan["memory"]]
        self.assertEqual([[row[0], row[-1]] for row in tables.rows if [row[0], row[-1]] in peaks], peaks)
        self.assertEqual(tables.open, [])
        self.assertNotRegex(page, "<script|src=|href=|url\\(")

    def test_a_plan_can_be_written_to_a_file(self):
        executable = self.executable("bytes", 2, 4)
        self.assertEqual(self.plan(executable, "--format=json", "-o", self.path("plan.json")), "")
        self.check_plan(json.loads(read(self.path("plan.json"))), "bytes", 2, 4)

    def test_every_phase_can_be_printed(self):
        texts = {}
        for phase in PHASES:
            result = run([PDC, model("bytes"), f"--to={phase}", "--batch=4", "--ranks=2", "--parallel=data"])
            self.assertEqual((result.code, result.err), (0, ""), str(result))
            texts[phase] = result.out
        self.assertIn("nn.model @bytes", texts["model"])
        self.assertIn("tensor<4x16xi32>", texts["specialized"])
        self.assertIn("nn.step", texts["step"])
        self.assertIn("data", texts["plan"])
        self.assertIn("tensor<2x16xi32>", texts["partitioned"])
        self.assertIn("nn.fusion", texts["fused"])
        self.assertIn("rt.program", texts["rt"])
        self.assertIn("all_reduce", texts["program"])

    def test_two_runs_write_the_same_bytes(self):
        for name, options in (("bytes", ["--parallel=data"]), ("resnet_tiny", ["--parallel=data"]), ("bytes", []),
                              ("mlp", ["--parallel=zero2"]), ("mlp", ["--parallel=pipeline=auto", "--micro-batches=2"])):
            with self.subTest(model=name, options=options):
                copies = []
                for copy in ("a", "b"):
                    result = run([PDC, model(name), "-o", self.path(copy), "--batch=4", "--ranks=2", *options])
                    self.assertEqual(result.code, 0, str(result))
                    copies.append(read(self.path(copy)))
                self.assertTrue(copies[0] == copies[1], "two executables differ")

    def test_an_executable_runs_without_mpiexec_when_it_has_one_rank(self):
        result = run([self.executable("bytes", 1, 4), "bench", "--steps=2"])
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        self.assertIn("samples/s", result.out)

    def test_an_executable_says_what_it_is(self):
        executable = self.executable("bytes", 2, 4)
        version = run([executable, "--version"])
        self.assertEqual((version.code, version.err), (0, ""))
        self.assertIn("bytes, compiled by pdc", version.out)
        self.assertIn("for 2 ranks (f32)", version.out)
        usage = run([executable, "--help"])
        self.assertEqual((usage.code, usage.err), (0, ""))
        for command in ("train", "eval", "infer", "bench", "verify"):
            self.assertIn(command, usage.out)


if __name__ == "__main__":
    main()
