#!/usr/bin/env python3
"""Predicted against measured step times, with profiles measured in the same run.

    bazel build -c opt //tools/pdc && tools/bench/truth.py                    # everything that this machine can: 10 minutes
    tools/bench/truth.py --only="2 ranks,2 ranks, pipelines" --seconds=2      # some groups, shorter

A group is a number of ranks, of this machine or of two hosts of tools/testbed (root is needed) with one rank each on a link
of 1 Gb/s. `pdc profile` measures each such machine once, plans of the models are compiled for that profile, and `bench`
runs them. Each is predicted twice: from rates, when it is compiled; and with the calls that were measured when `pdc profile` got
all the machine's executables. Printed, as the tables of README.md: by group the mean and the largest error, Spearman's rank
correlation, and the share of pairs that are predicted in the right order among those that differ by over 5 %; then each plan.
Whatever was not as large as predicted to the byte is said.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PDC = ROOT / "bazel-bin/tools/pdc/pdc"
TESTBED = ROOT / "tools/testbed/testbed.sh"
RATE = "1gbit"
DECISIVE = 0.05  # pairs whose measured times differ by less have no order
FEWEST_STEPS, MOST_STEPS = 5, 40

# Group -> (ranks, whether they are on two hosts, plans: (model, batch, --parallel and further options)).
GROUPS = {
    "1 rank": (1, False, [
        ("mlp", 64, "data"), ("lenet", 32, "data"), ("gpt_tiny", 8, "data"), ("gpt_tiny", 32, "data"),
        ("resnet_tiny", 16, "data"), ("moe_tiny", 8, "data"), ("alexnet", 4, "data")]),
    "2 ranks": (2, False, [
        ("mlp", 64, "data"), ("mlp", 64, "tensor"), ("mlp", 64, "zero2"), ("lenet", 32, "data"),
        ("gpt_tiny", 16, "data"), ("gpt_tiny", 16, "tensor"), ("gpt_tiny", 16, "zero1"), ("gpt_tiny", 16, "zero3"),
        ("resnet_tiny", 16, "data"), ("moe_tiny", 8, "data"), ("alexnet", 8, "data"), ("alexnet", 8, "auto")]),
    "2 ranks, pipelines": (2, False, [
        ("gpt_tiny", 16, "gpipe --micro-batches=4"), ("gpt_tiny", 16, "1f1b --micro-batches=4"),
        ("gpt_tiny", 16, "interleaved --micro-batches=4"), ("gpt_tiny", 16, "zb --micro-batches=4"),
        ("mlp", 64, "1f1b --micro-batches=2"), ("resnet_tiny", 16, "1f1b --micro-batches=4"),
        ("alexnet", 8, "gpipe --micro-batches=2")]),
    "4 ranks": (4, False, [
        ("mlp", 64, "data"), ("mlp", 64, "tensor"), ("lenet", 32, "data"), ("gpt_tiny", 16, "data"),
        ("gpt_tiny", 16, "tensor"), ("gpt_tiny", 16, "zero3"), ("alexnet", 8, "data"), ("alexnet", 8, "auto")]),
    "4 ranks, pipelines": (4, False, [
        ("gpt_tiny", 16, "gpipe --micro-batches=4"), ("gpt_tiny", 16, "data=2,pipeline=2 --micro-batches=4"),
        ("gpt_tiny", 16, "tensor=2,pipeline=2 --schedule=zb --micro-batches=4"),
        ("gpt_tiny", 16, "data=2,pipeline=2 --schedule=interleaved --micro-batches=4"),
        ("gpt_tiny", 16, "data=2,pipeline=2 --schedule=1f1b:round-robin --micro-batches=4"),
        ("gpt_tiny", 16, "pipeline=3:1 --schedule=1f1b:round-robin --micro-batches=6"),
        ("mlp", 64, "data=2,pipeline=2 --micro-batches=2"),
        ("resnet_tiny", 16, "data=2,pipeline=2 --schedule=zb --micro-batches=2"),
        ("alexnet", 8, "data=2,pipeline=2 --schedule=gpipe --micro-batches=2")]),
    "2 hosts": (2, True, [
        ("gpt_tiny", 16, "data"), ("gpt_tiny", 16, "tensor"), ("gpt_tiny", 16, "zero3"), ("gpt_tiny", 16, "auto"),
        ("mlp", 64, "data"), ("mlp", 64, "tensor"), ("mlp", 64, "auto"), ("alexnet", 8, "data"),
        ("alexnet", 8, "auto")]),
    "2 hosts, pipelines": (2, True, [
        ("gpt_tiny", 16, "gpipe --micro-batches=4"), ("gpt_tiny", 16, "1f1b --micro-batches=4"),
        ("gpt_tiny", 16, "zb --micro-batches=4"), ("mlp", 64, "1f1b --micro-batches=2"),
        ("alexnet", 8, "1f1b --micro-batches=4")]),
}
EASY_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def find_model(name):
    """In models/, or one of the small ones of the tests."""
    for folder in ("models", "tests/numerics/golden"):
        path = ROOT / folder / f"{name}.mlir"
        if path.exists():
            return path
    sys.exit(f"truth.py: there is no model '{name}'")


def execute(command):
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **EASY_MPI})
    if result.returncode != 0:
        sys.exit(f"truth.py: {' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def compile_plan(executable, cluster, group, plan):
    """What it is predicted to take, s."""
    model, batch, options = plan
    report = executable.with_suffix(".json")
    parallel, *rest = options.split()
    execute([PDC, find_model(model), "-o", executable, f"--batch={batch}", f"--ranks={GROUPS[group][0]}",
             f"--parallel={parallel}", *rest, f"--cluster={cluster}", f"--report={report}"])
    return json.loads(report.read_text())["predicted"]["step_time"]


def measure_plan(executable, launch, called, group, plan, predicted, seconds):
    """A row: what was predicted, from rates and from the cluster `called` with measured calls, and what was measured."""
    model, batch, options = plan
    result = executable.with_suffix(".bench.json")
    simulated = json.loads(execute([PDC, "simulate", executable, f"--cluster={called}", "--format=json"]))
    steps = max(FEWEST_STEPS, min(MOST_STEPS, int(seconds / predicted)))
    execute([*launch, executable, "bench", "--warmup=2", f"--steps={steps}", f"--json={result}"])
    bench = json.loads(result.read_text())
    row = {"group": group, "model": model, "batch": batch, "parallel": options,
           "from_rates": predicted, "from_calls": simulated["predicted"]["step_time"], "measured": bench["step_time"],
           "predicted_memory": bench["predicted_peak_memory"], "memory": bench["peak_memory"]}
    print(f"{group:20} {model:12} {batch:4} {options:50} predicted {predicted * 1e3:9.3f} ms, from calls "
          f"{row['from_calls'] * 1e3:9.3f} ms  measured {row['measured'] * 1e3:9.3f} ms"
          f"{'' if is_memory_right(row) else '  MEMORY IS NOT AS PREDICTED'}", file=sys.stderr, flush=True)
    return row


def measure_machine(folder, launch, names, seconds):
    """The rows of the groups of one machine."""
    cluster, called = folder / "cluster.yaml", folder / "called.yaml"
    execute([*launch, PDC, "profile", "-o", cluster])
    plans = [(name, plan) for name in names for plan in GROUPS[name][2]]
    executables = [folder / f"executable{i}" for i in range(len(plans))]
    predicted = [compile_plan(executable, cluster, *plan) for executable, plan in zip(executables, plans)]
    execute([*launch, PDC, "profile", *executables, "-o", called])
    return [measure_plan(executable, launch, called, *plan, expected, seconds)
            for executable, plan, expected in zip(executables, plans, predicted)]


def measure(groups, seconds):
    rows = []
    for (ranks, has_hosts), names in itertools.groupby(groups, key=lambda name: GROUPS[name][:2]):
        launch = ["mpiexec", "-n", ranks]
        if has_hosts:
            os.environ["PDC_TESTBED"] = "truth"
            execute([TESTBED, "up", f"--hosts={ranks}", f"--rate={RATE}"])
            launch = [TESTBED, "run", "--per-host=1"]
        try:
            with tempfile.TemporaryDirectory() as folder:
                rows += measure_machine(pathlib.Path(folder), launch, list(names), seconds)
        finally:
            if has_hosts:
                execute([TESTBED, "down"])
    return rows


def is_memory_right(row):
    return row["memory"] == row["predicted_memory"]


def ranks_of(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    return {i: place for place, i in enumerate(order)}


def decisive_pairs(rows):
    return [(a, b) for a, b in itertools.combinations(rows, 2)
            if abs(a["measured"] - b["measured"]) > DECISIVE * min(a["measured"], b["measured"])]


def is_order_right(pair, how):
    a, b = pair
    return (a[how] < b[how]) == (a["measured"] < b["measured"])


def summary(name, rows, how):
    errors = [abs(row[how] / row["measured"] - 1) for row in rows]
    predicted, measured = ranks_of([row[how] for row in rows]), ranks_of([row["measured"] for row in rows])
    n = len(rows)
    difference = sum((predicted[i] - measured[i])**2 for i in range(n))
    pairs = decisive_pairs(rows)
    right = sum(is_order_right(pair, how) for pair in pairs)
    correlation = 1 - 6 * difference / (n * (n * n - 1)) if n > 1 else 1
    return (f"| {name} | {n} | {100 * sum(errors) / n:.1f} % | {100 * max(errors):.0f} % | {correlation:.3f} | "
            f"{right} of {len(pairs)} |")


def print_summaries(rows, how):
    print("| | plans | mean error | largest | rank correlation | right order of pairs that differ by over 5 % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, of_group in itertools.groupby(rows, key=lambda row: row["group"]):
        print(summary(name, list(of_group), how))
    print(summary("all", rows, how))
    # Who plans chooses among these.
    choices = [pair for pair in decisive_pairs(rows)
               if all(pair[0][key] == pair[1][key] for key in ("model", "batch")) and
               GROUPS[pair[0]["group"]][:2] == GROUPS[pair[1]["group"]][:2]]
    print(f"\nOf pairs of plans for one model, batch and machine: {sum(is_order_right(pair, how) for pair in choices)} of "
          f"{len(choices)}.")


def print_tables(rows):
    print("From rates:\n")
    print_summaries(rows, "from_rates")
    print("\nFrom measured calls:\n")
    print_summaries(rows, "from_calls")
    wrong = [row for row in rows if not is_memory_right(row)]
    print(f"\nArenas of the predicted size, to the byte: {len(rows) - len(wrong)} of {len(rows)} plans.\n")
    print("| | model | batch | `--parallel` | from rates, ms | from calls, ms | measured, ms | errors |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        errors = ", ".join(f"{100 * (row[how] / row['measured'] - 1):+.0f} %" for how in ("from_rates", "from_calls"))
        print(f"| {row['group']} | {row['model']} | {row['batch']} | {row['parallel']} | {row['from_rates'] * 1e3:.4g} | "
              f"{row['from_calls'] * 1e3:.4g} | {row['measured'] * 1e3:.4g} | {errors} |")


def parse_groups(text):
    """Names of groups, which have commas in them, in a list with commas."""
    chosen = []
    while text:
        found = max((name for name in GROUPS if text == name or text.startswith(name + ",")), key=len, default=None)
        if found is None:
            sys.exit(f"truth.py: --only: expected groups, found '{text}'; there are: {'; '.join(GROUPS)}")
        chosen.append(found)
        text = text[len(found):].lstrip(", ")
    return [name for name in GROUPS if name in chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="GROUPS", help="of: " + "; ".join(GROUPS))
    parser.add_argument("--seconds", type=float, default=2, help="for which each plan runs, about")
    parser.add_argument("--json", help="where the rows go")
    options = parser.parse_args()
    groups = parse_groups(options.only) if options.only else list(GROUPS)
    if os.geteuid() != 0 and not options.only:
        print("truth.py: without root there are no hosts", file=sys.stderr)
        groups = [name for name in groups if not GROUPS[name][1]]
    begin = time.monotonic()
    rows = measure(groups, options.seconds)
    print_tables(rows)
    print(f"truth.py: {len(rows)} plans in {time.monotonic() - begin:.0f} s", file=sys.stderr)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
