#!/usr/bin/env python3
"""A cluster whose second node has devices a third as fast: what its ranks take counts, and its stages get less."""

import json

from support import PDC, EndToEndTest, main, model, read, run, write

CLUSTER = """
name: two_kinds
devices:
  fast: {memory: 32 GB, peak: {f32: 30 TFLOP/s}, memory_bandwidth: 1800 GB/s, launch: 5 us}
  slow: {memory: 32 GB, peak: {f32: 10 TFLOP/s}, memory_bandwidth: 600 GB/s, launch: 5 us}
nodes:
""" + "".join(f"""
  - device: %s
    devices: 2
    host: {{memory: 256 GB, memory_bandwidth: 200 GB/s, cores: 32, link: {{latency: 5 us, bandwidth: 12 GB/s}}}}
    links: [{{name: nvlink, members: 2, latency: 3 us, bandwidth: 75 GB/s}}]
""" for _ in range(2)) + """
network: [{name: infiniband, members: 2, latency: 10 us, bandwidth: 12 GB/s}]
"""


class TwoKinds(EndToEndTest):

    def report(self, *kinds_and_options, batch=64):
        first, second, *options = kinds_and_options
        write(self.path("cluster.yaml"), (CLUSTER % (first, second)).encode())
        result = run([PDC, model("gpt_tiny"), "-o", "exe", f"--batch={batch}", "--cluster=cluster.yaml", "--report=report.json",
                      *options], self.folder)
        self.assertEqual(result.code, 0, str(result))
        return json.loads(read(self.path("report.json")))

    def test_layouts_are_searched_at_the_speed_of_the_slowest(self):
        cost = lambda *kinds: self.report(*kinds, "--parallel=layouts")["search"]["cost"]
        slow, fast = cost("slow", "slow"), cost("fast", "fast")
        self.assertLess(fast, 0.9 * slow)
        for kinds in (("fast", "slow"), ("slow", "fast")):
            self.assertAlmostEqual(cost(*kinds), slow, delta=1e-9 * slow)

    def test_a_slow_stage_gets_fewer_layers(self):
        given = ("--parallel=pipeline=2,data=2", "--micro-batches=4")
        counts = {}
        for kinds in (("fast", "fast"), ("fast", "slow"), ("slow", "fast")):
            report = self.report(*kinds, *given)
            counts[kinds] = [len(stage["layers"]) for stage in report["stages"]]
        self.assertGreater(counts["fast", "slow"][0], counts["fast", "fast"][0], counts)
        self.assertLess(counts["slow", "fast"][0], counts["fast", "fast"][0], counts)


if __name__ == "__main__":
    main()
