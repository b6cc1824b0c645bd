#!/usr/bin/env python3
"""Ranks that die or stop: the job ends soon, with an error that says where, and nothing is lost."""

import os
import signal
import time

from support import TIME_FACTOR, EndToEndTest, losses, main, npy, random_floats, read, start, text_file

NEVER = 100000000  # steps


class Failures(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def begin(self, ranks, *options):
        """A training that is under way."""
        executable = self.executable("bytes", ranks, 6)
        job = self.start(executable, ranks, "train", f"--data={self.text}", f"--steps={NEVER}", "--log=log", *options)
        self.addCleanup(job.end)
        deadline = time.monotonic() + 30 * TIME_FACTOR
        while not (os.path.exists(self.path("log")) and read(self.path("log")).count(b"\n") > 5):
            self.assertIsNone(job.process.poll(), "it ended by itself")
            self.assertLess(time.monotonic(), deadline, "it does not begin")
            time.sleep(0.02)
        return job

    def test_a_killed_rank_ends_the_job_within_seconds(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                job = self.begin(2, "--timeout=60")
                begin = time.monotonic()
                os.kill(job.ranks()[victim], signal.SIGKILL)
                result = job.wait(15)
                self.assertLess(time.monotonic() - begin, 10 * TIME_FACTOR)
                self.assertNotEqual(result.code, 0, str(result))
                self.assertIn(f"rank {victim}", result.err)
                self.assertIn("signal 9", result.err)
                os.remove(self.path("log"))

    def check_stopped(self, ranks, victim, *options):
        job = self.begin(ranks, "--timeout=3", *options)
        pid = job.ranks()[victim]
        os.kill(pid, signal.SIGSTOP)
        begin = time.monotonic()
        try:
            result = job.wait(25)
        finally:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        seconds = time.monotonic() - begin
        self.assertGreater(seconds, 2)
        self.assertLess(seconds, 20 * TIME_FACTOR)
        self.assertNotEqual(result.code, 0, str(result))
        lines = [line for line in result.err.splitlines() if "the job ends" in line]
        self.assertGreaterEqual(len(lines), 1, str(result))
        self.assertRegex(lines[0], r"rank \d, step \d+, instruction \d+ \(.*all_reduce.*\)")
        self.assertIn(f"rank {victim}", lines[0].split("all_reduce", 1)[1], str(result))
        self.assertRegex(lines[0], r"timed out after 3\.\d s")

    def test_a_stopped_rank_ends_the_job_at_the_timeout_with_rank_step_and_instruction(self):
        self.check_stopped(2, 1)

    def test_a_stopped_first_rank_does_too(self):
        self.check_stopped(2, 0)

    def test_a_stopped_rank_of_three_that_exchange_by_messages_does_too(self):
        self.check_stopped(3, 2, "--communicator=mpi")

    def test_a_rank_that_never_meets_the_others_ends_the_job(self):
        """It stops, or ends without an error, before MPI has started; --timeout is below the least time for that."""
        executable = self.executable("bytes", 2, 6)
        train = [executable, "train", f"--data={self.text}", "--steps=1", "--timeout=3"]
        for what in ("kill -STOP $$", "exit 0"):
            with self.subTest(what=what):
                job = start(["mpiexec", "-n", 1, *train, ":", "-n", 1, "sh", "-c", what + '; exec "$@"', "sh", *train],
                            self.folder)
                self.addCleanup(job.end)
                result = job.wait(25)
                self.assertNotEqual(result.code, 0, str(result))
                self.assertRegex(result.err, r"the job ends: .*rank 0: starting MPI, .* timed out after 10\.0 s")

    def test_a_rank_stopped_between_checkpoints_ends_the_job_at_the_timeout(self):
        """Most of such a run is writing, for which the other ranks wait longer than for each other."""
        job = self.begin(2, "--timeout=3", "--checkpoint=c", "--every=1")
        pid = job.ranks()[1]
        os.kill(pid, signal.SIGSTOP)
        try:
            result = job.wait(25)
        finally:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.assertNotEqual(result.code, 0, str(result))
        self.assertRegex(result.err, r"the job ends: .*rank 0, step \d+.*timed out after 3\.\d s.*rank 1", str(result))
        step = int(read(self.path("c/latest")).decode().strip().split("-")[1])
        self.succeed(self.executable("bytes", 2, 6), 2, "train", f"--data={self.text}", f"--steps={step + 1}",
                     "--checkpoint=c", "--resume")

    def test_data_that_becomes_shorter_is_an_error_and_no_crash(self):
        text = text_file(self.path("mine"), size=200000)
        executable = self.executable("bytes", 2, 6)
        job = self.start(executable, 2, "train", "--data=mine", f"--steps={NEVER}", "--log=log")
        self.addCleanup(job.end)
        while not (os.path.exists(self.path("log")) and read(self.path("log")).count(b"\n") > 5):
            self.assertIsNone(job.process.poll(), "it ended by itself")
            time.sleep(0.02)
        os.truncate(text, 100)
        self.assert_refused(job.wait(20), os.path.basename(executable), ["rank", "'mine' became shorter"],
                            most_lines=2)

    def test_a_rank_that_fails_alone_ends_the_others(self):
        executable = self.executable("bytes", 2, 6)
        result = self.refuse(executable, 2, "train", f"--data={self.text}", f"--steps={NEVER}", "--log=/dev/full",
                             says=["rank 0", "step 1", "/dev/full", "No space left"])
        self.assertLess(result.seconds, 15 * TIME_FACTOR)

    def test_a_checkpoint_folder_belongs_to_one_run_at_a_time(self):
        job = self.begin(2, "--checkpoint=c", "--every=10", "--keep=100000")
        executable = self.executable("bytes", 2, 6)
        deadline = time.monotonic() + 30 * TIME_FACTOR
        while not os.path.exists(self.path("c/latest")):
            self.assertLess(time.monotonic(), deadline, "no checkpoint")
            time.sleep(0.02)
        self.refuse(executable, 2, "train", f"--data={self.text}", f"--steps={NEVER}", "--checkpoint=c", "--resume",
                    says=["another run is writing into 'c'"])
        self.assertIsNone(job.process.poll(), "the first run ended")
        os.kill(job.ranks()[0], signal.SIGKILL)
        job.wait(15)
        step = int(read(self.path("c/latest")).decode().strip().split("-")[1])
        self.succeed(executable, 2, "train", f"--data={self.text}", f"--steps={step + 1}", "--checkpoint=c", "--resume")

    def test_a_killed_mpiexec_leaves_no_ranks_behind(self):
        job = self.begin(2)
        pids = job.ranks().values()
        self.assertEqual(len(pids), 2)
        job.process.send_signal(signal.SIGTERM)
        job.wait(15)
        deadline = time.monotonic() + 10 * TIME_FACTOR
        while any(os.path.exists(f"/proc/{pid}") for pid in pids):
            self.assertLess(time.monotonic(), deadline, "a rank is left")
            time.sleep(0.05)

    def test_a_loss_that_is_not_finite_ends_the_job_and_keeps_the_last_checkpoint(self):
        executable = self.executable("mlp", 2, 4, "--optimizer=sgd")
        npy(self.path("x.npy"), "f", (4, 784), [1e3 * value for value in random_floats(4 * 784)])
        npy(self.path("y.npy"), "i", (4,), [1, 2, 3, 4])
        self.refuse(executable, 2, "train", "--data=x.npy,y.npy", "--steps=500", "--lr=1e6", "--checkpoint=c",
                    "--every=1", "--log=log", says=["step", "the loss is", "--lr"])
        good = len(losses(self.path("log")))
        self.assertIn(f"step-{good:08d}", os.listdir(self.path("c")) if good else [f"step-{good:08d}"])


if __name__ == "__main__":
    main()
