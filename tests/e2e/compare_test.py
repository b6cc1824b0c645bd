#!/usr/bin/env python3
"""pdc compare: presets side by side, what each splits, and an error where none has a plan."""

import json

from support import PDC, EndToEndTest, main, model, run

PRESETS = ["data", "zero1", "zero2", "zero3", "tensor", "auto"]


class Compare(EndToEndTest):

    def compare(self, *options, code=0):
        result = run([PDC, "compare", model("mlp"), *options], self.folder)
        self.assertEqual(result.code, code, str(result))
        return result

    def rows(self, *options):
        rows = json.loads(self.compare("--format=json", *options).out)
        self.assertEqual([row["parallel"] for row in rows], PRESETS)
        return {row["parallel"]: row for row in rows}

    def test_a_row_says_what_its_plan_splits(self):
        rows = self.rows("--batch=7", "--ranks=4")
        split = {name: tuple(row[key] for key in ("data", "tensor", "pipeline", "zero")) for name, row in rows.items()}
        self.assertEqual({name: split[name] for name in PRESETS[:-1]},
                         {"data": (4, 1, 1, 0), "zero1": (4, 1, 1, 1), "zero2": (4, 1, 1, 2), "zero3": (4, 1, 1, 3),
                          "tensor": (1, 4, 1, 0)})
        data, tensor, pipeline, _ = split["auto"]
        self.assertEqual(data * tensor * pipeline, 4)
        self.assertLessEqual(rows["auto"]["step_time"], min(row["step_time"] for row in rows.values()))

    def test_the_only_sample_is_not_said_to_be_split(self):
        # What an axis of the mesh is called says nothing.
        rows = self.rows("--batch=1", "--ranks=4")
        self.assertEqual((rows["auto"]["data"], rows["auto"]["tensor"]), (1, 4))
        table = self.compare("--batch=1", "--ranks=4").out.splitlines()
        self.assertIn("data 1, tensor 4", table[-1])

    def test_a_preset_without_a_plan_says_why_and_the_others_stand(self):
        rows = self.rows("--batch=1", "--ranks=4")
        for name in ("data", "zero1", "zero2", "zero3"):
            self.assertEqual(rows[name].keys(), {"parallel", "error"})
            self.assertIn("has a batch of 1 for data=4", rows[name]["error"])
        self.assertIn("step_time", rows["tensor"])

    def test_it_is_an_error_where_no_preset_has_a_plan(self):
        for format in ("table", "json"):
            result = self.compare("--batch=7", "--ranks=8", "--memory-limit=1000", f"--format={format}", code=1)
            self.assertEqual(result.err, "pdc: no preset has a plan; each row says why\n")
            for preset in PRESETS:
                self.assertIn(preset, result.out)
            self.assertIn("fits into 1000 bytes", result.out)

    def test_refusals(self):
        self.refuse_pdc("compare", model("mlp"), "--batch=8", says="one rank leaves nothing to compare")
        self.refuse_pdc("compare", model("mlp"), "--batch=8", "--ranks=8", "--cluster=pipedream_a:nodes=1",
                        says="4 devices, too few for 8 ranks")
        with open("/dev/full", "w") as full:
            result = run([PDC, "compare", model("mlp"), "--batch=8", "--ranks=2"], self.folder, stdout=full)
        self.assert_refused(result, "pdc", ["standard output", "No space left"])


if __name__ == "__main__":
    main()
