#!/usr/bin/env python3
"""Counts the test cases of a `bazel test` run from its build events: every GoogleTest case and lit file is one.

Prints the failed ones and, last, 'N passed, N failed'. Exit status 0 only if Bazel succeeded and something ran.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree


def cases_of(path):
    """(name, failed, skipped) of every test case in a JUnit file."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        failed = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped") is not None or case.get("status") == "notrun"
        yield f"{case.get('classname', '')}.{case.get('name', '')}", failed, skipped


def main():
    events_path, bazel_status = sys.argv[1], int(sys.argv[2])
    latest = {}  # (label, shard, run) -> the last attempt's result
    with open(events_path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            if "testResult" in event and "testResult" in event.get("id", {}):
                ident = event["id"]["testResult"]
                latest[(ident["label"], ident.get("shard"), ident.get("run"))] = event["testResult"]

    passed, failed, skipped = 0, [], 0
    for (label, _, _), result in sorted(latest.items(), key=lambda item: item[0][0]):
        uri = next((o["uri"] for o in result.get("testActionOutput", []) if o["name"] == "test.xml"), None)
        cases = []
        if uri:
            try:
                cases = list(cases_of(urllib.parse.unquote(urllib.parse.urlparse(uri).path)))
            except (OSError, xml.etree.ElementTree.ParseError):
                pass
        bad = [name for name, is_failed, _ in cases if is_failed]
        good = sum(1 for _, is_failed, is_skipped in cases if not is_failed and not is_skipped)
        skipped += sum(1 for _, _, is_skipped in cases if is_skipped)
        if result.get("status") != "PASSED" and not bad:
            bad = [label.split(":")[-1]]  # crashed, timed out, or was never built
        elif not cases:
            good = 1
        passed += good
        failed += [f"{label} {name}" for name in bad]
    for name in failed:
        print(f"FAILED {name}")
    tail = f", {skipped} skipped" if skipped else ""
    if bazel_status != 0 and not failed:
        print(f"bazel failed with status {bazel_status}")
        failed = ["build"]
    print(f"{passed} passed, {len(failed)} failed{tail}")
    return 0 if bazel_status == 0 and passed > 0 and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
