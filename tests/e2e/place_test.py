#!/usr/bin/env python3
"""pdc place, on graphs whose answers are counted by hand."""

import json

from support import PDC, EndToEndTest, main, run, write

PROFILE = """node1 -- Input -- forward_compute_time=50, backward_compute_time=50, activation_size=9e9, parameter_size=0
node2 -- Conv2d(3, 64) -- forward_compute_time=30, backward_compute_time=60, activation_size=1000, parameter_size=0
node3 -- Linear(64, 8) -- forward_compute_time=10, backward_compute_time=20, activation_size=[8; 8], parameter_size=1e9
\tnode1 -- node2
\tnode2 -- node3
"""


def dnn_graph(**changes):
    nodes = [{"id": i, "supportedOnFpga": 1, "cpuLatency": 100.0, "fpgaLatency": 10.0, "isBackwardNode": 0, "size": 1.0}
             for i in range(4)]
    edges = [{"sourceId": i, "destId": i + 1, "cost": 1.0} for i in range(3)]
    return json.dumps({"maxSizePerFPGA": 2.0, "maxFPGAs": 2, "maxCPUs": 0, "nodes": nodes, "edges": edges, **changes})


class Place(EndToEndTest):

    def place(self, text, *options):
        write(self.path("graph"), text.encode())
        result = run([PDC, "place", "graph", *options], self.folder)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        return result.out

    def test_a_pipedream_profile(self):
        plan = json.loads(self.place(PROFILE, "--format=pipedream", "--devices=4", "--bandwidth=1e9",
                                     "--cost-model=pipedream"))
        self.assertAlmostEqual(plan["bottleneck"], 0.030, places=12)
        self.assertEqual([(s["nodes"], s["replicas"]) for s in plan["stages"]], [(["node2"], 3), (["node3"], 1)])
        self.assertAlmostEqual(plan["stages"][0]["time"], 0.030, places=12)
        self.assertAlmostEqual(plan["data_parallel"], (0.120 + 4 * 3 * 1e9 / (1e9 * 4)) / 4, places=12)
        self.assertTrue(plan["search"]["exact"])

    def test_a_graph_of_dnn_partitioning(self):
        plan = json.loads(self.place(dnn_graph(), "--format=dnn-partitioning"))
        self.assertAlmostEqual(plan["bottleneck"], 0.021, places=12)  # two nodes and one output
        self.assertEqual([s["nodes"] for s in plan["stages"]], [[0, 1], [2, 3]])
        self.assertIsNone(plan["data_parallel"])

    def test_a_graph_of_piper(self):
        def layer(seconds, before=(), after=()):
            return {"id": "vanilla", "timePerSample": seconds, "parameterSize": 0, "memoryUsageA": 1, "memoryUsageB": 0,
                    "syncTimeFw": {str(i): 5 for i in before}, "syncTimeBw": {str(i): 5 for i in after}}
        graph = {"maxMemoryPerDevice": 100, "maxDevices": 3, "maxBatchSize": 2, "bandwidth": 100,
                 "nodes": [{"id": 0, "TMPCs": {"1": [layer(8, after=[1])], "2": [layer(4, after=[1])]}},
                           {"id": 1, "TMPCs": {"1": [layer(4, before=[0])]}}],
                 "edges": [{"sourceId": 0, "destId": 1, "communicationCost": 5}]}
        plan = json.loads(self.place(json.dumps(graph), "--format=piper", "--cost-model=piper"))
        self.assertAlmostEqual(plan["bottleneck"], 4.2, places=12)  # 10 bytes there and back at 100 bytes a second
        self.assertEqual([(s["nodes"], s["replicas"], s["tensor"]) for s in plan["stages"]], [([0], 1, 2), ([1], 1, 1)])

    def test_sizes_with_suffixes_and_more_effort(self):
        options = ("--format=pipedream", "--devices=4", "--bandwidth=1e9")
        whole = self.place(PROFILE, *options, "--memory-limit=16gb")
        self.assertEqual(self.place(PROFILE, *options, "--memory-limit=17179869184"), whole)
        self.assertEqual(self.place(PROFILE, *options, "--memory-limit=1.7179869184e10", "--effort=8"), whole)

    def test_a_table_for_people(self):
        table = self.place(PROFILE, "--format=pipedream", "--devices=4", "--table")
        self.assertIn("bottleneck        30.000000 ms", table)
        self.assertIn("node3", table)

    def test_command_lines_and_graphs_with_mistakes(self):
        write(self.path("profile"), PROFILE.encode())
        write(self.path("graph"), dnn_graph().encode())
        write(self.path("cycle"), (PROFILE + "\tnode3 -- node2\n").encode())
        write(self.path("half"), dnn_graph()[:200].encode())
        write(self.path("full"), dnn_graph(maxFPGAs=1).encode())
        write(self.path("empty"), b"")
        for arguments, says in (
            (["profile"], "--format"),
            (["profile", "--format=onnx"], "--format"),
            (["missing", "--format=pipedream", "--devices=2"], ["missing", "No such file"]),
            (["profile", "--format=pipedream"], ["profile", "--devices"]),
            (["profile", "--format=pipedream", "--devices=0"], "--devices"),
            (["profile", "--format=pipedream", "--devices=2", "--bandwidth=0"], "--bandwidth"),
            (["profile", "--format=pipedream", "--devices=2", "--bandwidth=fast"], "--bandwidth"),
            (["profile", "--format=pipedream", "--devices=2", "--cost-model=dnn-partitioning"], "--cost-model"),
            (["profile", "--format=pipedream", "--devices=2", "--memory-limit=10"], "10 bytes of memory"),
            (["profile", "--format=pipedream", "--devices=2", "--memory-limit=10xb"], "--memory-limit"),
            (["profile", "--format=pipedream", "--devices=2", "--memory-limit=-1"], ["--memory-limit", "found '-1'"]),
            (["profile", "--format=pipedream", "--devices=2", "--effort=0"], ["--effort", "found '0'"]),
            (["profile", "--format=pipedream", "--devices=2", "-o", "/nowhere/plan"], "/nowhere/plan"),
            (["cycle", "--format=pipedream", "--devices=2"], ["cycle", "node2 -> node3 -> node2"]),
            (["empty", "--format=pipedream", "--devices=2"], ["empty", "no nodes"]),
            (["graph", "--format=pipedream", "--devices=2"], ["graph", "line 1"]),
            (["profile", "--format=dnn-partitioning"], ["profile", "not JSON"]),
            (["half", "--format=dnn-partitioning"], ["half", "not JSON"]),
            (["empty", "--format=dnn-partitioning"], ["empty", "it is empty"]),
            (["full", "--format=dnn-partitioning"], ["full", "no plan fits on 1 accelerators"]),
            (["graph", "--format=dnn-partitioning", "--bandwidth=1e9"], "--bandwidth"),
        ):
            with self.subTest(arguments=arguments):
                self.refuse_pdc("place", *arguments, says=says)


if __name__ == "__main__":
    main()
