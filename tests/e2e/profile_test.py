#!/usr/bin/env python3
"""pdc profile: a cluster file from measurements."""

import json
import re

from support import PDC, EndToEndTest, main, read, run, start, write


class Profile(EndToEndTest):

    def test_two_ranks_measure_devices_links_and_collectives(self):
        result = start(["mpiexec", "-n", "2", PDC, "profile", "--quick", "-o", "two.yaml"], self.folder).wait()
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.out + result.err, "", str(result))
        text = read(self.path("two.yaml")).decode()
        self.assertRegex(text, r"(?m)^name: two$")
        self.assertIn("2 ranks of one thread on 1 node", text)
        self.assertRegex(text, r"half of the repetitions lie within [\d.]+ % of them \(computation\), [\d.]+ %")
        for key in ("on_host: true", "memory_bandwidth:", "launch:", "f32:", "convolution:", "elementwise:", "reduction:", "gather:", "copy:", "library_times:",
                    "matmul(64x64:f32, 64x64:f32, 64x64:f32)", "path: shared_memory", "devices: 2", "cores:"):
            self.assertIn(key, text)
        # A processor without instructions for bf16 has one curve for all precisions.
        self.assertRegex(text, r"matmul(\.f32)?:")
        self.assertEqual("matmul.bf16:" in text, "bf16: " in text)
        for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "point_to_point"):
            self.assertIn(f"kind: {kind}", text)
        # Rates of a processor of this century.
        peak, = re.findall(r"f32: ([\d.]+) GFLOP/s", text)
        self.assertGreater(float(peak), 1)

    def test_calls_of_executables_are_measured_for_plans_that_make_the_same(self):
        executable = self.executable("lenet", 2, 32)
        result = start(["mpiexec", "-n", "2", PDC, "profile", "--quick", executable, "-o", "two.yaml"], self.folder).wait()
        self.assertEqual(result.code, 0, str(result))
        text = read(self.path("two.yaml")).decode()
        # A rank's half of the batch; behind transposed operands stand their strides.
        for call in (r"conv2d\(16x1x28x28:f32, ", r"matmul\([^)]*:f32@", r"max_pool2d_grad\(", r"fusion_[0-9a-f]+\("):
            self.assertRegex(text, call)
        # With a second for every call, computing takes as many seconds as there are calls: none is estimated.
        slow = re.sub(r'("[^"]*\)"): [^,}]*', r"\1: 1 s", text)
        write(self.path("slow.yaml"), slow.encode())
        simulated = run([PDC, "simulate", executable, "--cluster=./slow.yaml", "--format=json"], self.folder)
        self.assertEqual(simulated.code, 0, str(simulated))
        seconds = json.loads(simulated.out)["predicted"]["compute_time"]
        self.assertGreater(seconds, 20)
        self.assertEqual(seconds, round(seconds))

    def test_routing_is_measured_with_gates_that_are_numbers(self):
        executable = self.executable("moe_tiny", 1, 4)
        result = run([PDC, "profile", "--quick", executable], self.folder)
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("expert_slots(", result.out)

    def test_files_that_are_no_executables_are_refused(self):
        self.refuse_pdc("profile", "missing", says="missing: there is no such file")
        self.refuse_pdc("profile", self.folder, says="it is no file of a compiled model")
        self.refuse_pdc("profile", "--quick", PDC, says=[PDC, "no executable that pdc has written"])

    def test_without_mpiexec_it_measures_one_rank(self):
        result = run([PDC, "profile", "--quick"], self.folder)
        self.assertEqual(result.code, 0, str(result))
        self.assertRegex(result.out, r"(?m)^name: measured$")
        self.assertIn("1 rank of one thread on 1 node", result.out)
        self.assertNotIn("collectives:", result.out)
        self.assertNotIn("network:", result.out)

    def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(self):
        for path, says in (("missing/x.yaml", "No such file"), (".", "it is a folder")):
            with self.subTest(path=path):
                result = self.refuse_pdc("profile", "-o", path, says=says)
                self.assertLess(result.seconds, 5)

    def test_unknown_options_are_refused(self):
        self.refuse_pdc("profile", "--fast", says="--fast")
        self.refuse_pdc("profile", "--communicator=pigeons", says="pigeons")

    def test_a_full_disk_is_an_error(self):
        self.refuse_pdc("profile", "--quick", "-o", "/dev/full", says=["/dev/full", "No space left"])


if __name__ == "__main__":
    main()
