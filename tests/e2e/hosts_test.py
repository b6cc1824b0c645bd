#!/usr/bin/env python3
"""Training and profiling across two hosts that are network namespaces, over TCP and shaped links."""

import os
import re
import subprocess
import time
import unittest

from support import PDC, EndToEndTest, losses, main, read, run, start, text_file

TESTBED = os.path.abspath("tools/testbed/testbed.sh")
NEVER = 100000000  # steps


class Hosts(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        check = subprocess.run([TESTBED, "check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check.returncode != 0:
            print(f"SKIPPED: {check.stdout.strip()}", flush=True)
            raise unittest.SkipTest(check.stdout.strip())
        cls.text = text_file(os.path.join(cls.shared, "text"), 20000)
        os.environ["PDC_TESTBED"] = f"e2e{os.getpid()}"
        cls.addClassCleanup(cls.testbed, "down")

    @staticmethod
    def testbed(*arguments):
        result = run([TESTBED, *arguments])
        assert result.code == 0, str(result)

    def across(self, executable, *arguments):
        """Starts two ranks on each host."""
        return start([TESTBED, "run", "--per-host=2", executable, *arguments], self.folder)

    def train(self, executable, log):
        return [executable, "train", f"--data={self.text}", "--steps=4", "--seed=3", f"--log={self.path(log)}"]

    def test_losses_across_hosts_are_those_of_one_device_at_1_and_10_gbit(self):
        single = self.executable("gpt_tiny", 1, 8)
        parallel = self.executable("gpt_tiny", 4, 8)
        result = run(self.train(single, "single"))
        self.assertEqual(result.code, 0, str(result))
        expected = losses(self.path("single"))
        self.assertEqual(len(expected), 4)
        for rate in ("1gbit", "10gbit"):
            with self.subTest(rate=rate):
                self.testbed("up", "--hosts=2", f"--rate={rate}")
                result = self.across(*self.train(parallel, rate)).wait()
                self.assertEqual(result.code, 0, str(result))
                found = losses(self.path(rate))
                self.assertEqual(len(found), len(expected))
                for step, (one, four) in enumerate(zip(expected, found), 1):
                    self.assertAlmostEqual(four / one, 1, delta=1e-5, msg=f"step {step}")

    def test_a_cut_link_ends_the_job_with_rank_and_step(self):
        executable = self.executable("bytes", 4, 8)
        self.testbed("up", "--hosts=2", "--rate=1gbit")
        job = self.across(executable, "train", f"--data={self.text}", f"--steps={NEVER}", "--timeout=3",
                          f"--log={self.path('log')}")
        self.addCleanup(job.end)
        deadline = time.monotonic() + 40
        while not (os.path.exists(self.path("log")) and read(self.path("log")).count(b"\n") > 5):
            self.assertIsNone(job.process.poll(), "it ended by itself")
            self.assertLess(time.monotonic(), deadline, "it does not begin")
            time.sleep(0.05)
        self.testbed("cut", "1")
        begin = time.monotonic()
        result = job.wait(45)
        self.assertLess(time.monotonic() - begin, 35)
        self.assertNotEqual(result.code, 0, str(result))
        ends = [line for line in result.err.splitlines() + result.out.splitlines() if "the job ends" in line]
        self.assertGreaterEqual(len(ends), 1, str(result))
        self.assertRegex(ends[0], r"rank [01], step \d+, instruction \d+", str(result))
        self.assertRegex(ends[0], r"rank [23].* did not answer within 1 s \(stopped, dead or cut off\)", str(result))
        # Nothing is left on either host.
        deadline = time.monotonic() + 20
        while re.search("bytes-", self.processes()):
            self.assertLess(time.monotonic(), deadline, f"a rank is left:\n{self.processes()}")
            time.sleep(0.2)

    @staticmethod
    def processes():
        """The command lines of what runs on the hosts."""
        lines = []
        for host in (0, 1):
            name = f"pdc-{os.environ['PDC_TESTBED']}-h{host}"
            pids = subprocess.run(["ip", "netns", "pids", name], stdout=subprocess.PIPE, text=True).stdout.split()
            for pid in pids:
                try:
                    lines.append(read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode())
                except OSError:
                    pass
        return "\n".join(lines)

    def test_a_profile_knows_nodes_and_links(self):
        self.testbed("up", "--hosts=2", "--rate=1gbit")
        result = self.across(PDC, "profile", "--quick", "-o", self.path("two.yaml")).wait(150)
        self.assertEqual(result.code, 0, str(result))
        text = read(self.path("two.yaml")).decode()
        for line in ("count: 2", "devices: 2", "name: shared memory", "name: network", "sharing: per_member"):
            self.assertIn(line, text)


if __name__ == "__main__":
    main()
