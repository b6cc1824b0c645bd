#!/usr/bin/env python3
"""--memory-limit on searched plans: what is compiled fits to the byte, or is refused with the plan that comes closest."""

import json
import re

from support import PDC, EndToEndTest, main, model, read, run

RANKS, BATCH = 4, 16


class MemoryLimit(EndToEndTest):

    def compile(self, *options):
        return run([PDC, model("lenet"), "-o", "exe", f"--ranks={RANKS}", f"--batch={BATCH}", "--parallel=auto",
                    "--report=report.json", *options], self.folder)

    def peak(self):
        return max(json.loads(read(self.path("report.json")))["predicted"]["peak_memory"])

    def unlimited_peak(self):
        result = self.compile()
        self.assertEqual(result.code, 0, str(result))
        return self.peak()

    def test_a_plan_whose_arenas_exceed_the_limit_is_searched_again(self):
        # The search counts less than the arenas hold, so that its first plan stays what it is.
        limit = self.unlimited_peak() - 1
        result = self.compile(f"--memory-limit={limit}")
        self.assertEqual(result.code, 0, str(result))
        self.assertLessEqual(self.peak(), limit)
        self.succeed(self.path("exe"), RANKS, "verify", "--steps=1")

    def test_where_nothing_fits_the_closest_plan_and_what_it_lacks_are_named(self):
        unlimited = self.unlimited_peak()
        limit = unlimited
        # From what fits down to what does not.
        while True:
            limit = limit * 3 // 4
            result = self.compile(f"--memory-limit={limit}")
            if result.code != 0:
                break
            self.assertLessEqual(self.peak(), limit)
        needs = re.search(r"needs? (?:least needs )?(\d+)(?: bytes for '\w+')?, (\d+) more", result.err)
        self.assertTrue(needs, str(result))
        self.assertEqual(int(needs[1]), limit + int(needs[2]), str(result))
        self.assertIn("(mesh data=", result.err)
        self.assertLessEqual(int(needs[1]), unlimited, str(result))


if __name__ == "__main__":
    main()
