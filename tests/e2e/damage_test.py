#!/usr/bin/env python3
"""Damaged executables and checkpoints are refused before anything is computed; the last good checkpoint stays."""

import os
import random
import shutil
import struct
import subprocess

from support import PDC, TIME_FACTOR, EndToEndTest, losses, main, read, run, text_file, write


def section(elf, name):
    """Offset and size of a section of an ELF file (System V ABI, 64 bits)."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    names = headers[names_index][4]
    for header in headers:
        begin = names + header[0]
        if elf[begin:elf.index(b"\0", begin)] == name:
            return header[4], header[5]
    raise AssertionError(f"no section {name}")


def flip(data, offset, bit=0):
    return data[:offset] + bytes([data[offset] ^ (1 << bit)]) + data[offset + 1:]


class Damage(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))
        cls.good = cls.executable("bytes", 2, 4, "--optimizer=adam")
        cls.begin, cls.size = section(read(cls.good), b".pdc")

    def damaged(self, data):
        path = write(self.path("exe"), data)
        os.chmod(path, 0o755)
        return path

    def train(self, *options):
        return ["train", f"--data={self.text}", "--steps=2", *options]

    def test_a_flipped_bit_anywhere_in_the_payload(self):
        data = read(self.good)
        payload = data[self.begin:self.begin + self.size]
        kernels = payload.index(b"\x7fELF")
        offsets = {0, 9, 20, 40, kernels, kernels + 1000, kernels + 5000, self.size - 1}
        offsets |= {random.Random(1).randrange(self.size) for _ in range(24)}
        for offset in sorted(offsets):
            with self.subTest(offset=offset):
                executable = self.damaged(flip(data, self.begin + offset, offset % 8))
                result = run([executable, *self.train("--checkpoint=c")], self.folder)
                self.assert_refused(result, executable, [])
                self.assertNotIn("started on", result.err, "it was believed")
                self.assertFalse(os.path.exists(self.path("c")))
                plan = run([PDC, "plan", executable], self.folder)
                self.assert_refused(plan, "pdc", [])

    def test_a_damaged_executable_ends_a_job_with_one_line(self):
        executable = self.damaged(flip(read(self.good), self.begin + self.size // 2))
        result = self.run_ranks(executable, 2, *self.train())
        self.assert_refused(result, executable, ["section"])
        self.assertLess(result.seconds, 20 * TIME_FACTOR)

    def test_a_truncated_executable(self):
        data = read(self.good)
        for size in (self.begin + 10, self.begin + self.size // 2, self.begin + self.size - 1, len(data) - 1,
                     len(data) - 100):
            with self.subTest(size=size):
                executable = self.damaged(data[:size])
                result = run([executable, *self.train()], self.folder)
                self.assert_refused(result, executable, ["damaged"])

    def checkpoint(self):
        self.succeed(self.good, 2, *self.train("--checkpoint=c"))
        return self.path("c/step-00000002")

    def refuse_alone(self, *arguments, says):
        """As refuse(), of the executable for one rank, which starts in a fraction of the time of a job."""
        alone = self.executable("bytes", 1, 4, "--optimizer=adam")
        result = run([alone, *arguments], self.folder)
        self.assert_refused(result, os.path.basename(alone), says)

    def test_damaged_checkpoints_are_refused_before_a_step(self):
        folder = self.checkpoint()
        resume = ["train", f"--data={self.text}", "--steps=3", "--checkpoint=c", "--resume", "--log=log"]
        for file in ("model.safetensors", "optimizer.safetensors", "state.json"):
            whole = read(f"{folder}/{file}")
            cases = {"truncated": whole[:-3], "empty": b"", "longer": whole + b"\n" * (file != "state.json")}
            cases |= {f"bit {offset}": flip(whole, offset) for offset in (2, 30, len(whole) // 2, len(whole) - 9)}
            for what, content in cases.items():
                if content == whole:
                    continue
                with self.subTest(file=file, what=what):
                    write(f"{folder}/{file}", content)
                    self.refuse_alone(*resume, says=[f"c/step-00000002/{file}"])
                    self.assertFalse(os.path.exists(self.path("log")))
            if file != "optimizer.safetensors":
                self.refuse_alone("eval", f"--data={self.text}", "--checkpoint=c", says=[file])
            os.remove(f"{folder}/{file}")
            self.refuse_alone(*resume, says=[file])
            write(f"{folder}/{file}", whole)
        self.succeed(self.good, 2, *resume)

    def test_a_damaged_checkpoint_ends_a_job_with_one_line(self):
        folder = self.checkpoint()
        for file in ("model.safetensors", "optimizer.safetensors", "state.json"):
            whole = read(f"{folder}/{file}")
            write(f"{folder}/{file}", flip(whole, len(whole) // 2))
            self.refuse(self.good, 2, "train", f"--data={self.text}", "--steps=3", "--checkpoint=c", "--resume",
                        says=[f"c/step-00000002/{file}"])
            write(f"{folder}/{file}", whole)

    def test_checkpoints_of_other_models_optimizers_data_and_seeds_are_refused(self):
        self.checkpoint()
        resume = ["train", "--steps=3", "--checkpoint=c", "--resume"]
        sgd = self.executable("bytes", 2, 4, "--optimizer=sgd")
        self.refuse(sgd, 2, *resume, f"--data={self.text}", says=["adam", "sgd"])
        gpt = self.executable("gpt_tiny", 1, 1)
        self.refuse(gpt, 1, *resume, f"--data={self.text}", says=["bytes", "gpt_tiny"])
        self.refuse(gpt, 1, "eval", f"--data={self.text}", "--checkpoint=c", says=["bytes", "gpt_tiny"])
        self.refuse(gpt, 1, "train", f"--data={self.text}", "--steps=1",
                    "--init-from=c/step-00000002/model.safetensors", says=["model.safetensors", "lacks"])
        text_file(self.path("other"), size=5000)
        self.refuse(self.good, 2, *resume, "--data=other", says=["samples"])
        self.refuse(self.good, 2, *resume, f"--data={self.text}", "--seed=5", says=["seed"])
        self.refuse(self.good, 2, *resume, f"--data={self.text}", "--checkpoint-step=1", says=["step-00000001"])
        self.refuse(self.good, 2, "train", "--steps=3", "--checkpoint=none", "--resume", f"--data={self.text}",
                    says=["no checkpoint", "none"])

    def resumes(self):
        """The checkpoint of step 2 is whole, and training goes on from it as if nothing had been."""
        self.assertEqual(read(self.path("c/latest")), b"step-00000002\n")
        self.succeed(self.good, 2, "train", f"--data={self.text}", "--steps=4", "--checkpoint=c", "--resume",
                     "--log=log")
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["latest", "step-00000002", "step-00000004"])

    def test_a_full_disk_keeps_the_last_good_checkpoint(self):
        self.checkpoint()
        if os.geteuid() != 0:
            self.skipTest("needs a small file system, so root")
        small = self.path("small")
        os.mkdir(small)
        mounted = run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small])
        if mounted.code != 0:
            self.skipTest(f"cannot mount a small file system: {mounted.err}")
        try:
            shutil.copytree(self.path("c"), f"{small}/c")
            write(f"{small}/ballast", b"x" * 70000)
            result = self.refuse(self.good, 2, "train", f"--data={self.text}", "--steps=4", f"--checkpoint={small}/c",
                                 "--resume", says=["step 4", "rank 0", "No space left"])
            self.assertLess(result.seconds, 20 * TIME_FACTOR)
            self.assertEqual(sorted(os.listdir(f"{small}/c")), ["latest", "step-00000002"])
            shutil.rmtree(self.path("c"))
            shutil.copytree(f"{small}/c", self.path("c"))
        finally:
            run(["umount", small])
        self.resumes()

    def test_a_limit_on_file_sizes_keeps_the_last_good_checkpoint(self):
        self.checkpoint()
        one = self.executable("bytes", 1, 4, "--optimizer=adam")
        result = run(["sh", "-c", 'ulimit -f 100; exec "$0" "$@"', one, "train", f"--data={self.text}", "--steps=4",
                      "--checkpoint=c", "--resume"], self.folder)
        self.assert_refused(result, os.path.basename(one), ["step 4", "c/.unfinished-step-00000004", "File too large"])
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["latest", "step-00000002"])
        self.resumes()

    def test_a_kill_while_checkpoints_are_written_leaves_a_usable_one(self):
        for attempt in range(4):
            folder = f"k{attempt}"
            arguments = ["train", f"--data={self.text}", f"--checkpoint={folder}", "--every=1", "--lr=0.01",
                         f"--log=log{attempt}"]
            job = self.start(self.good, 2, *arguments, "--steps=100000000")
            self.addCleanup(job.end)
            while not os.path.exists(self.path(f"{folder}/latest")):
                self.assertIsNone(job.process.poll(), "it ended by itself")
            # Any time will do: with a checkpoint after every step, nearly all of it is spent on writing.
            seconds = random.Random(attempt).random() * 0.2
            try:
                job.process.wait(0.1 + seconds)
            except subprocess.TimeoutExpired:
                pass
            os.kill(job.ranks()[0], 9)
            self.assertNotEqual(job.wait(20).code, 0)
            step = int(read(self.path(f"{folder}/latest")).decode().strip().split("-")[1])
            self.succeed(self.good, 2, *arguments, f"--steps={step + 2}", "--resume")
            names = os.listdir(self.path(folder))
            self.assertEqual([name for name in names if name.startswith(".")], [])
            self.assertIn(f"step-{step + 2:08d}", names)
            self.assertEqual(len(losses(self.path(f"log{attempt}"))), step + 2)


if __name__ == "__main__":
    main()
