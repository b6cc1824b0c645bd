#!/usr/bin/env python3
"""Links, pipes, devices and folders where files are expected: they stay what they are, and nobody waits for ever."""

import json
import os
import threading

from support import LIMIT_SECONDS, PDC, TIME_FACTOR, EndToEndTest, main, model, read, run, text_file, write


def entries(folder):
    return sorted(os.listdir(folder))


class OddFiles(EndToEndTest):

    def setUp(self):
        super().setUp()
        self.one = self.executable("bytes", 1, 4)
        text_file(self.path("text"))

    def refuse_alone(self, *arguments, says, **popen):
        result = run([self.one, *arguments], self.folder, **popen)
        self.assert_refused(result, os.path.basename(self.one), says)

    def alone(self, *arguments):
        result = run([self.one, *arguments], self.folder)
        self.assertEqual((result.code, result.err), (0, ""), str(result))

    def reading(self, pipe):
        """Reads a pipe to its end in the background; a function that gives what was found."""
        found = []
        thread = threading.Thread(target=lambda: found.append(read(pipe)), daemon=True)
        thread.start()

        def contents():
            thread.join(LIMIT_SECONDS * TIME_FACTOR)
            self.assertEqual(len(found), 1, "nobody wrote into the pipe")
            return found[0]

        return contents

    def test_a_link_to_an_output_stays_a_link(self):
        os.mkdir(self.path("elsewhere"))
        for option in ("--json", "--trace"):
            write(self.path("elsewhere/file"), b"old")
            os.symlink("elsewhere/file", self.path("link"))
            self.alone("bench", "--steps=1", f"{option}=link")
            self.assertTrue(os.path.islink(self.path("link")))
            json.loads(read(self.path("elsewhere/file")))
            self.assertEqual(entries(self.path("elsewhere")), ["file"])
            os.remove(self.path("link"))

    def test_a_log_behind_a_link_is_continued(self):
        os.symlink("real", self.path("log"))
        train = ["train", "--data=text", "--checkpoint=c", "--log=log"]
        self.alone(*train, "--steps=2")
        self.alone(*train, "--steps=4", "--resume")
        self.assertTrue(os.path.islink(self.path("log")))
        self.assertEqual(read(self.path("real")).count(b"\n"), 4)

    def test_a_pipe_takes_an_output_and_stays_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        for option in ("--json", "--trace"):
            contents = self.reading(self.path("pipe"))
            self.alone("bench", "--steps=1", f"{option}=pipe")
            json.loads(contents())
        contents = self.reading(self.path("pipe"))
        self.alone("train", "--data=text", "--steps=3", "--log=pipe")
        self.assertEqual(contents().count(b"\n"), 3)
        self.assertEqual(entries(self.folder), ["pipe", "text"])

    def test_a_pipe_that_nobody_reads_is_refused(self):
        os.mkfifo(self.path("pipe"))
        self.refuse_alone("train", "--data=text", "--steps=1", "--log=pipe", says=["'pipe'", "nobody reads"])
        self.refuse_alone("bench", "--steps=1", "--json=pipe", says=["'pipe'", "nobody reads"])

    def test_folders_as_outputs_are_refused_before_anything_is_computed(self):
        os.mkdir(self.path("folder"))
        for option in ("--log", "--trace"):
            self.refuse_alone("train", "--data=text", "--steps=100000000", f"{option}=folder",
                              says=["'folder'", "Is a directory"])
        self.refuse_alone("bench", "--steps=100000000", "--json=folder", says=["'folder'", "Is a directory"])

    def test_pipes_in_a_checkpoint_are_refused(self):
        self.alone("train", "--data=text", "--steps=1", "--checkpoint=c")
        for name in ("latest", "step-00000001/state.json", "step-00000001/model.safetensors"):
            path = self.path(f"c/{name}")
            whole = read(path)
            os.remove(path)
            os.mkfifo(path)
            self.refuse_alone("train", "--data=text", "--steps=2", "--checkpoint=c", "--resume",
                              says=[f"'c/{name}'", "not a regular file"])
            os.remove(path)
            write(path, whole)
        self.alone("train", "--data=text", "--steps=2", "--checkpoint=c", "--resume")

    def test_what_the_user_may_not_touch(self):
        if os.geteuid() != 0:
            self.skipTest("needs another user, so root")
        for folder in (self.shared, self.folder):
            os.chmod(folder, 0o755)
        os.chmod(self.path("text"), 0o644)
        write(self.path("secret"), b"x" * 1000)
        os.chmod(self.path("secret"), 0o600)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        try:
            reached = run([self.one, "--version"], self.folder, **nobody).code == 0
        except PermissionError:
            reached = False
        if not reached:
            self.skipTest("another user cannot reach this folder")
        for arguments, says in ((["--data=secret"], "'secret'"), (["--data=text", "--log=l"], "'l'"),
                                (["--data=text", "--trace=t"], "'t'"), (["--data=text", "--checkpoint=c"], "'c'")):
            with self.subTest(arguments=arguments):
                self.refuse_alone("train", "--steps=1", *arguments, says=[says, "Permission denied"], **nobody)
        self.assertEqual(entries(self.folder), ["secret", "text"])

    def test_pdc_writes_into_pipes_and_keeps_links(self):
        compile_bytes = [PDC, model("bytes"), "--batch=4", "-o"]
        os.mkfifo(self.path("pipe"))
        contents = self.reading(self.path("pipe"))
        result = run([*compile_bytes, "pipe"], self.folder)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        self.assertGreater(len(contents()), 1000000)
        os.symlink("exe", self.path("link"))
        write(self.path("exe"), b"old")
        result = run([*compile_bytes, "link"], self.folder)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(run([self.path("exe"), "bench", "--steps=1"]).code, 0)
        self.assertEqual(entries(self.folder), ["exe", "link", "pipe", "text"])

    def test_pdc_does_not_read_devices(self):
        """Reading /dev/zero would end when there is no memory left."""
        self.refuse_pdc("/dev/zero", "--batch=4", "-o", "exe", says=["/dev/zero", "device"])
        self.refuse_pdc("plan", "/dev/zero", says=["/dev/zero", "device"])
        self.refuse_pdc("place", "/dev/zero", "--format=pipedream", says=["/dev/zero", "device"])
        self.refuse_pdc(model("bytes"), "--batch=4", "-o", "exe", "--cluster=/dev/zero", says=["/dev/zero"])
        self.refuse_pdc(model("bytes"), "--batch=4", "-o", "exe", "--plan-in=/dev/zero", says=["/dev/zero", "device"])

    def test_a_batch_that_no_machine_can_hold_is_refused_at_the_input(self):
        result = run([PDC, model("bytes"), "-o", "exe", "--batch=9007199254740992"], self.folder)
        self.assertEqual(result.code, 1, str(result))
        lines = [line for line in result.err.splitlines() if ": error: " in line]
        self.assertEqual(len(lines), 1, str(result))
        for text in ("bytes.mlir:2:1", "tokens", "2^46 bytes", "--batch"):
            self.assertIn(text, lines[0])


if __name__ == "__main__":
    main()
