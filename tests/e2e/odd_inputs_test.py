#!/usr/bin/env python3
"""Unusual but right: small batches, little data, odd paths, other folders, closed outputs."""

import os

from support import PDC, EndToEndTest, losses, main, model, npy, random_floats, read, read_npy, run, text_file, write


class OddInputs(EndToEndTest):

    def test_a_batch_of_one(self):
        text_file(self.path("text"))
        self.succeed(self.executable("bytes", 1, 1), 1, "train", "--data=text", "--steps=3", "--log=log")
        self.assertEqual(len(losses(self.path("log"))), 3)

    def test_a_batch_of_one_sample_for_each_rank(self):
        text_file(self.path("text"))
        self.succeed(self.executable("bytes", 3, 3), 3, "train", "--data=text", "--steps=3")
        self.succeed(self.executable("bytes", 3, 3), 3, "verify", "--data=text")

    def test_data_with_fewer_samples_than_a_batch(self):
        """An epoch ends inside of a batch, which goes on with the next; eval pads."""
        write(self.path("text"), b"exactly twenty bytes")
        executable = self.executable("bytes", 2, 9)
        self.succeed(executable, 2, "train", "--data=text", "--steps=4", "--validation-fraction=0", "--log=log",
                     "--checkpoint=c")
        self.assertEqual(len(losses(self.path("log"))), 4)
        result = self.succeed(executable, 2, "eval", "--data=text", "--checkpoint=c")
        self.assertIn("samples", result.out)

    def test_one_sample(self):
        npy(self.path("x.npy"), "f", (1, 784), random_floats(784))
        npy(self.path("y.npy"), "i", (1,), [3])
        executable = self.executable("mlp", 2, 4)
        self.succeed(executable, 2, "train", "--data=x.npy,y.npy", "--steps=2", "--checkpoint=c")
        self.succeed(executable, 2, "infer", "--input=x.npy", "--output=out.npy", "--checkpoint=c")
        self.assertEqual(read_npy(self.path("out.npy"))[0], (1, 10))

    def test_paths_with_spaces(self):
        folder = self.path("a folder, with spaces")
        os.mkdir(folder)
        source = write(os.path.join(folder, "my model.mlir"), read(model("bytes")))
        text_file(os.path.join(folder, "my text"))
        executable = os.path.join(folder, "my model")
        result = run([PDC, source, "-o", executable, "--batch=4", "--ranks=2", "--parallel=data"])
        self.assertEqual((result.code, result.out, result.err), (0, "", ""), str(result))
        self.assertEqual(run([PDC, "plan", executable]).code, 0)
        result = run(["mpiexec", "-n", 2, "./my model", "train", "--data=my text", "--steps=2", "--log=my log",
                      "--checkpoint=my checkpoints", "--trace=my trace"], folder)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        self.assertEqual(sorted(os.listdir(folder)), ["my checkpoints", "my log", "my model", "my model.mlir",
                                                      "my text", "my trace"])

    def test_other_folders_and_relative_paths(self):
        os.makedirs(self.path("one/two"))
        text_file(self.path("text"))
        write(self.path("m.mlir"), read(model("bytes")))
        result = run([PDC, "../../m.mlir", "-o", "../exe", "--batch=4"], self.path("one/two"))
        self.assertEqual(result.code, 0, str(result))
        result = run(["../exe", "train", "--data=../../text", "--steps=2", "--checkpoint=deep/er/c"],
                     self.path("one/two"))
        self.assertEqual(result.code, 0, str(result))
        self.assertTrue(os.path.isdir(self.path("one/two/deep/er/c/step-00000002")))

    def test_executables_need_nothing_beside_them(self):
        """Copied, renamed, and without the compiler's files: one file that runs."""
        copy = write(self.path("renamed"), read(self.executable("bytes", 1, 4)))
        os.chmod(copy, 0o755)
        result = run([copy, "bench", "--steps=1"], "/", env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(result.code, 0, str(result))

    def test_an_executable_found_through_the_search_path(self):
        directory = os.path.dirname(self.executable("bytes", 1, 4))
        name = os.path.basename(self.executable("bytes", 1, 4))
        result = run([name, "bench", "--steps=1"], self.folder, env={**os.environ, "PATH": directory + ":/usr/bin"})
        self.assertEqual(result.code, 0, str(result))

    def test_a_closed_standard_output_does_not_lose_the_run(self):
        text_file(self.path("text"))
        executable = self.executable("bytes", 1, 4)
        script = '"$0" train --data=text --steps=5 --checkpoint=c --log=log >&-'
        result = run(["sh", "-c", script, executable], self.folder)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(len(losses(self.path("log"))), 5)
        self.assertEqual(read(self.path("c/latest")), b"step-00000005\n")

    def test_a_reader_that_goes_away_does_not_crash_it(self):
        text_file(self.path("text"))
        executable = self.executable("bytes", 1, 4)
        script = '"$0" train --data=text --steps=20000 --log=log | head -n 2'
        result = run(["sh", "-c", script, executable], self.folder)
        self.assertEqual(len(result.out.splitlines()), 2, str(result))

    def test_standard_input_is_not_read(self):
        result = run([self.executable("bytes", 1, 4), "bench", "--steps=1"], self.folder)
        self.assertEqual(result.code, 0, str(result))

    def test_empty_lines_and_bytes_of_all_kinds_are_text(self):
        write(self.path("text"), bytes(range(256)) * 8 + b"\n\n\n")
        self.succeed(self.executable("bytes", 1, 4), 1, "train", "--data=text", "--steps=2")


if __name__ == "__main__":
    main()
