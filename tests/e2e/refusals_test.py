#!/usr/bin/env python3
"""What pdc and executables refuse: one clear line that names the thing, and nothing left behind."""

import os
import struct

from support import PDC, EndToEndTest, main, model, npy, random_floats, read, run, text_file, write


class CompilerRefuses(EndToEndTest):

    def refuse_model(self, *options, says, name="bytes"):
        self.refuse_pdc(model(name), "-o", self.path("exe"), *options, says=says)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_unknown_option(self):
        self.refuse_model("--batch=4", "--bogus", says=["--bogus", "--help"])

    def test_a_missing_model(self):
        self.refuse_pdc("missing.mlir", "-o", "exe", says=["missing.mlir", "No such file"])

    def test_no_output(self):
        self.refuse_pdc(model("bytes"), "--batch=4", says=["-o", "--to"])

    def test_what_is_written_beside_an_executable(self):
        for option in ("--report=report.json", "--plan-out=plan.mlir"):
            self.refuse_model("--batch=4", "--to=plan", option, says=[option.split("=")[0], "--to=plan does not make"])

    def test_what_is_to_come(self):
        self.refuse_model("--batch=4", "--backend=cuda", says=["--backend=cuda", "not supported yet"])

    def test_pipelines(self):
        two = "--parallel=pipeline=2"
        for options, says in ((["--parallel=1f1b", "--schedule=gpipe"], "name two schedules"),
                              (["--parallel=data", "--schedule=gpipe"], "give --parallel=pipeline=P"),
                              ([two, "--schedule=spiral"], "there is no schedule 'spiral'; there are gpipe, 1f1b"),
                              ([two, "--schedule=interleaved", "--micro-batches=3"], "multiple of"),
                              ([two, "--schedule=interleaved:chunks=0"], "chunks=N"),
                              ([two, "--schedule=bidirectional", "--micro-batches=3"], "half for each direction; not 2 and 3"),
                              ([two, "--schedule=pipedream:flush"], "expected vertical-sync, round-robin or split after the colon"),
                              ([two, "--schedule=pipedream", "--clip-norm=1"], ["--clip-norm", "norm of the gradients of all stages"]),
                              (["--parallel=auto", "--schedule=zb-h2"], "is not searched for"),
                              (["--parallel=auto", "--schedule=interleaved:chunks=0"], "is not searched for"),
                              (["--parallel=pipeline=3,data=auto"], ["pipeline=3", "--ranks=2"]),
                              (["--parallel=pipeline=3"], ["pipeline=3", "--ranks=2"])):
            with self.subTest(options=options):
                self.refuse_model("--batch=4", "--ranks=2", *options, says=says)

    def test_what_only_a_search_of_pipelines_finds_where_there_is_none(self):
        for asked, beside in (("--parallel=pipeline=auto", "--search=mcmc"),
                              ("--parallel=pipeline=2,data=auto", "--cost-model=alpa"),
                              ("--micro-batches=auto", "--layout=batch:data"),
                              ("--schedule=auto", "--parallel=layouts"),
                              ("--schedule=1f1b", "--search=ilp"),
                              ("--micro-batches=auto", "--parallel=layouts,pipeline=2"),
                              ("--micro-batches=auto", "--parallel=pipeline=1:3")):
            with self.subTest(asked=asked, beside=beside):
                self.refuse_model("--batch=8", "--ranks=4", asked, beside,
                                  says=[asked + " asks for a search of pipelines", beside.replace("=batch:data", "")])

    def test_plans(self):
        for options, says in ((["--layout=heads"], ["--layout=heads", "dim:axis"]),
                              (["--search=best"], ["--search=best", "exact"]),
                              (["--cost-model=best"], ["best"]),
                              (["--parallel=tensor=3"], ["tensor=3", "--ranks=2"]),
                              (["--plan-in=missing"], ["missing", "No such file"]),
                              (["--plan-in=missing", "--parallel=data"], ["--plan-in", "--parallel"]),
                              (["--plan-in=missing", "--search=mcmc"], ["--plan-in", "--search=mcmc"]),
                              ([f"--plan-in={PDC}"], ["--plan-in", "is no text"]),
                              (["--search=random", "--parallel=zero1"], ["--search=random", "--parallel"]),
                              (["--search=random", "--layout=batch:data"], ["--search=random", "--layout"])):
            with self.subTest(options=options):
                self.refuse_model("--batch=4", "--ranks=2", *options, says=says)

    def test_clusters(self):
        self.refuse_model("--batch=4", "--cluster=lasen", says=["--cluster=lasen", "did you mean 'lassen'?"])
        self.refuse_model("--batch=4", "--cluster=c.yaml", says=["c.yaml", "No such file"])
        with open(self.path("bad.yaml"), "w") as file:
            file.write("name: bad\nnodes: []\nbandwith: 3\n")
        self.refuse_pdc(model("bytes"), "-o", "exe", "--batch=4", "--cluster=bad.yaml",
                        says="bad.yaml:3: bandwith: unknown key")
        os.remove(self.path("bad.yaml"))
        self.refuse_model("--batch=4", "--cluster=lassen:nodes=1", "--ranks=5", says="4 devices, too few for 5 ranks")

    def test_commands_to_come(self):
        self.refuse_pdc("import", "model.onnx", "-o", "m.mlir", says="not supported yet")
        self.refuse_pdc("plan", model("bytes"), "--format=trace", says=["not supported", "pdc simulate"])

    def test_values_out_of_range(self):
        for option in ("--batch=0", "--batch=-1", "--batch=many", "--ranks=0", "--precision=f16", "--mode=guess",
                       "--optimizer=adamm", "--threads=0", "--memory-limit=lots", "--memory-limit=0",
                       "--bucket-bytes=-1", "--bucket-bytes=99999999999999999999", "--clip-norm=nan",
                       "--weight-decay=inf"):
            with self.subTest(option=option):
                self.refuse_model("--batch=4", option, says=[option.split("=")[0]])
        self.refuse_model("--batch=0", says=["--batch: expected a whole number from 1", "found '0'"])
        self.refuse_model("--batch=4", "--ranks=2", "--parallel=data=3", says=["data=3", "--ranks=2"])
        self.refuse_model("--batch=4", "--ranks=2", "--parallel=fast", says=["fast", "expected"])

    def diagnose(self, *arguments, says, place):
        """A compiler's error: its place in the file, then one message."""
        result = run([PDC, *arguments], self.folder)
        self.assertEqual(result.code, 1, str(result))
        lines = [line for line in result.err.splitlines() if ": error: " in line]
        self.assertEqual(len(lines), 1, str(result))
        self.assertLess(len(result.err.splitlines()), 8, f"more than a place and a message:\n{result}")
        for text in [place, *says]:
            self.assertIn(text, lines[0])
        self.assertFalse(os.path.exists(self.path("exe")))

    def test_a_batch_that_is_not_given(self):
        self.diagnose(model("bytes"), "-o", "exe", says=["batch", "--batch=N"], place="bytes.mlir:2:1")

    def test_an_output_that_is_an_input(self):
        write(self.path("m.mlir"), read(model("bytes")))
        os.symlink("m.mlir", self.path("link"))
        for name in ("m.mlir", "./m.mlir", "link"):
            self.refuse_pdc("m.mlir", "-o", name, "--batch=4", says=[f"-o={name}", "MODEL", "read"])
            self.refuse_pdc("m.mlir", "-o", "exe", f"--report={name}", "--batch=4", says=["--report", "MODEL"])
        self.refuse_pdc("m.mlir", "-o", "exe", "--report=./exe", "--batch=4", says=["--report=./exe", "-o", "one file"])
        self.assertEqual(read(self.path("m.mlir")), read(model("bytes")))
        executable = self.executable("bytes", 2, 4)
        before = read(executable)
        self.refuse_pdc("plan", executable, "-o", executable, says=["EXE", "read"])
        self.assertEqual(read(executable), before)

    def test_a_batch_smaller_than_the_ranks(self):
        self.diagnose(model("bytes"), "-o", "exe", "--batch=2", "--ranks=3", "--parallel=data",
                      says=["batch of 2", "3 ranks"], place="bytes.mlir:2:1")
        self.diagnose(model("bytes"), "-o", "exe", "--batch=2", "--ranks=3", "--parallel=zero1",
                      says=["batch of 2", "data=3"], place="bytes.mlir:2:1")

    def test_a_plan_that_does_not_fit_in_memory_and_says_by_how_much(self):
        executable = self.executable("bytes", 1, 4)
        bench = run([executable, "bench", "--steps=1", "--json=bench.json"], self.folder)
        self.assertEqual(bench.code, 0, str(bench))
        self.diagnose(model("bytes"), "-o", "exe", "--batch=8", "--ranks=2", "--parallel=gpipe", "--memory-limit=100kb",
                      says=["does not fit", "on stage ", "of the pipeline", "--micro-batches", "--memory-limit=102400"],
                      place="bytes.mlir:2:1")
        self.diagnose(model("bytes"), "-o", "exe", "--batch=4", "--memory-limit=100kb",
                      says=["does not fit", "--memory-limit=102400", "more than", "bytes", "split it into --micro-batches"], place="bytes.mlir:2:1")

    def test_a_plan_whose_step_has_a_mistake(self):
        made = run([PDC, model("bytes"), "--to=plan", "-o", "plan.mlir", "--batch=4", "--ranks=2"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        text = read(self.path("plan.mlir")).decode()
        write(self.path("plan.mlir"), text.replace('nn.role = "parameter"', 'nn.role = "parametre"', 1).encode())
        # The step's line, and not all of the step.
        self.diagnose(model("bytes"), "-o", "exe", "--batch=4", "--plan-in=plan.mlir", place="plan.mlir:",
                      says=["'nn.step' op argument #0 has nn.role \"parametre\"", "expected one of parameter"])

    def test_a_plan_whose_mesh_lacks_an_axis_of_its_layouts(self):
        # Where stages compute again, the bytes of parts are counted before the plan is partitioned.
        made = run([PDC, model("bytes"), "-o", "made", "--plan-out=plan.mlir", "--batch=8", "--ranks=4", "--recompute=full",
                    "--parallel=pipeline=2:2,data=1:2,tensor=2:1"], self.folder)
        self.assertEqual(made.code, 0, str(made))
        text = read(self.path("plan.mlir")).decode()
        for axes in ("", '"data" = 2'):
            write(self.path("plan.mlir"), text.replace('axes(["tensor" = 2])', f"axes([{axes}])").encode())
            self.diagnose(model("bytes"), "-o", "exe", "--batch=8", "--plan-in=plan.mlir", place="plan.mlir:",
                          says=["'nn.step' op has a value of type", 'has no axis "tensor"'])

    def test_models_with_mistakes(self):
        text = read(model("bytes")).decode()
        for change, says in (
            (("nn.linear %d", "nn.liner %d"), ["nn.liner"]),
            (("tensor<16x256xf32>, tensor<256xf32>)", "tensor<16x255xf32>, tensor<256xf32>)"), ["tensor<16x256xf32>"]),
            (("%t, %place", "%t, %plaice"), ["undeclared"]),
            (("tensor<f32>\n}", "tensor<f32>\n"), []),
        ):
            with self.subTest(change=change[1]):
                self.assertIn(change[0], text)
                write(self.path("model.mlir"), text.replace(*change).encode())
                self.diagnose("model.mlir", "-o", "exe", "--batch=4", says=says, place="model.mlir:")

    def test_files_that_are_no_models(self):
        write(self.path("noise"), bytes(range(1, 256)))
        write(self.path("bytecode"), b"ML\xefR" + bytes(100))
        write(self.path("empty.mlir"), b"")
        for name in ("noise", "bytecode", "empty.mlir", "."):
            with self.subTest(name=name):
                result = run([PDC, name, "-o", "exe", "--batch=4"], self.folder)
                self.assertEqual(result.code, 1, str(result))
                self.assertIn(name, result.err)
                self.assertFalse(os.path.exists(self.path("exe")))

    def test_outputs_that_cannot_be_written(self):
        self.refuse_pdc(model("bytes"), "-o", "/nowhere/exe", "--batch=4", says=["/nowhere/exe", "No such file"])
        self.refuse_pdc(model("bytes"), "-o", "exe", "--batch=4", "--report=/nowhere/r", says="/nowhere/r")
        self.refuse_pdc(model("bytes"), "-o", "/dev/full", "--batch=4", "--to=step", says=["/dev/full", "No space"])
        executable = self.executable("bytes", 2, 4)
        self.refuse_pdc("plan", executable, "-o", "/dev/full", says=["/dev/full", "No space left"])
        self.assertEqual(os.listdir(self.folder), [])

    def test_plans_of_files_that_carry_none(self):
        write(self.path("noise"), b"noise")
        self.refuse_pdc("plan", "missing", says=["missing", "No such file"])
        self.refuse_pdc("plan", "noise", says=["noise", "is neither an executable nor a plan"])
        self.refuse_pdc("plan", PDC, says="not an executable made by pdc")
        self.refuse_pdc("plan", "noise", "--format=xml", says="--format")


class ExecutableRefuses(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def setUp(self):
        super().setUp()
        self.two = self.executable("bytes", 2, 4)

    def test_command_lines_with_mistakes(self):
        train = ["train", f"--data={self.text}"]
        for arguments, says in (
            ([], ["command"]),
            (["trian"], ["'trian'", "train, eval"]),
            (train + ["--steps=1", "--bogus=1"], ["--bogus"]),
            (train, ["--steps"]),
            (["train", "--steps=1"], ["--data"]),
            (train + ["--steps=0"], ["--steps"]),
            (train + ["--steps=-3"], ["--steps"]),
            (train + ["--steps=1", "--lr=-1"], ["--lr"]),
            (train + ["--steps=1", "--resume"], ["--resume", "--checkpoint"]),
            (train + ["--steps=1", "--every=2"], ["--every", "--checkpoint"]),
            (train + ["--steps=1", "--timeout=0"], ["--timeout"]),
            (["eval", f"--data={self.text}"], ["--checkpoint"]),
            (["infer", "--input=x.npy"], ["--output"]),
            (["bench", "--steps=none"], ["--steps"]),
        ):
            with self.subTest(arguments=arguments):
                self.refuse(self.two, 2, *arguments, says=says)

    def test_another_number_of_ranks(self):
        for ranks in (1, 3):
            self.refuse(self.two, ranks, "train", f"--data={self.text}", "--steps=1",
                        says=["compiled for 2 ranks", f"started on {ranks}", "mpiexec -n 2"])
        alone = run([self.two, "bench", "--steps=1"], self.folder)
        self.assert_refused(alone, os.path.basename(self.two), ["compiled for 2 ranks", "started on 1"])

    def test_ranks_of_different_executables(self):
        other = self.executable("bytes", 2, 6)
        result = run(["mpiexec", "-n", 1, self.two, "bench", ":", "-n", 1, other, "bench"], self.folder)
        self.assertNotEqual(result.code, 0)
        self.assertIn("another executable than rank 0", result.err)

    def test_missing_data(self):
        self.refuse(self.two, 2, "train", "--data=missing", "--steps=1", says=["missing", "No such file"])
        self.refuse(self.two, 2, "eval", "--data=missing", "--checkpoint=c", says=["missing", "No such file"])

    def test_data_that_is_no_regular_file(self):
        os.mkfifo(self.path("pipe"))
        for path in ("pipe", ".", "/dev/zero"):
            self.refuse(self.two, 2, "train", f"--data={path}", "--steps=1", says=[path, "not a regular file"])

    def test_data_shorter_than_a_sample(self):
        write(self.path("short"), b"12345678901234567")
        self.refuse(self.two, 2, "train", "--data=short", "--steps=1", says=["short", "tokens"])

    def test_outputs_that_cannot_be_written(self):
        for option in ("--log", "--trace", "--checkpoint"):
            path = "/dev/null/c" if option == "--checkpoint" else "/nowhere/file"
            with self.subTest(option=option):
                self.refuse(self.two, 2, "train", f"--data={self.text}", "--steps=1", f"{option}={path}", says=path)
        self.refuse(self.two, 2, "bench", "--json=/nowhere/file", says="/nowhere/file")
        npy(self.path("x.npy"), "i", (1, 16), [65] * 16)
        self.refuse(self.two, 2, "infer", "--input=x.npy", "--output=/nowhere/file", says="/nowhere/file")

    def test_outputs_that_are_inputs(self):
        text = text_file(self.path("text"))
        npy(self.path("x.npy"), "i", (1, 16), [65] * 16)
        before = read(text)
        for option in ("--log", "--trace"):
            self.refuse(self.two, 2, "train", "--data=text", "--steps=1", f"{option}=./text",
                        says=[f"{option}=./text", "--data", "read"])
            self.refuse(self.two, 2, "train", "--data=text", "--steps=1", f"{option}={self.two}",
                        says=["this executable", "read"])
        self.refuse(self.two, 2, "train", "--data=text", "--steps=1", "--log=a", "--trace=./a", says=["one file"])
        self.refuse(self.two, 2, "infer", "--input=x.npy", "--output=x.npy", says=["--output", "--input"])
        self.assertEqual(read(text), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["text", "x.npy"])

    def test_numbers_that_are_none(self):
        train = ["train", f"--data={self.text}", "--steps=1"]
        for option in ("--lr=nan", "--lr=inf", "--timeout=nan", "--validation-fraction=nan", "--seed=-1",
                       "--seed=99999999999999999999", "--mean=nan", "--lr-gamma=nan"):
            with self.subTest(option=option):
                self.refuse(self.two, 2, *train, option, says=[option.split("=")[0], "expected"])

    def test_inputs_of_other_shapes(self):
        npy(self.path("x.npy"), "i", (2, 7), [65] * 14)
        self.refuse(self.two, 2, "infer", "--input=x.npy", "--output=y.npy", says=["x.npy", "7", "16"])
        npy(self.path("x.npy"), "f", (2, 16), random_floats(32))
        self.refuse(self.two, 2, "infer", "--input=x.npy", "--output=y.npy", says=["x.npy"])
        self.refuse(self.two, 2, "infer", "--input=missing.npy", "--output=y.npy", says=["missing.npy"])
        self.assertFalse(os.path.exists(self.path("y.npy")))

    def test_ids_outside_of_the_vocabulary(self):
        npy(self.path("x.npy"), "i", (2, 16), [65] * 31 + [256])
        self.refuse(self.two, 2, "infer", "--input=x.npy", "--output=y.npy", says=["x.npy", "sample 1", "256", "0 to 255"])
        write(self.path("corpus.bin"), struct.pack("<40H", *range(240, 280)))
        self.refuse(self.two, 2, "train", "--data=corpus.bin", "--steps=30", each_rank=True,
                    says=["rank", "step", "'corpus.bin', tokens", "0 to 255"])

    def test_a_checkpoint_folder_of_another_run_is_not_overwritten(self):
        train = ["train", f"--data={self.text}", "--steps=1", "--checkpoint=c"]
        self.succeed(self.two, 2, *train)
        before = read(self.path("c/step-00000001/model.safetensors"))
        self.refuse(self.two, 2, *train, says=["'c'", "--resume"])
        self.assertEqual(read(self.path("c/step-00000001/model.safetensors")), before)


if __name__ == "__main__":
    main()
