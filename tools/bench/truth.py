#!/usr/bin/env python3
"""Predicted against measured step times, with a profile measured in the same run.

    bazel build -c opt //tools/pdc && tools/bench/truth.py [--steps=20] [--ranks=1,2,4] [--json=FILE]
    tools/bench/truth.py --hosts=1gbit [--per-host=1]      # two hosts of tools/testbed; needs root

For each number of ranks, `pdc profile` measures the machine with that many, plans of the models are compiled for that
profile, and `bench` runs them. Printed: each plan's predicted and measured time and memory; then the mean and the largest
error, Spearman's rank correlation, the share of pairs that are predicted in the right order among those that differ by
over 5 %, and whether every arena was of the size that was predicted. README.md has figures.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PDC = ROOT / "bazel-bin/tools/pdc/pdc"
TESTBED = ROOT / "tools/testbed/testbed.sh"
DECISIVE = 0.05  # pairs whose measured times differ by less have no order

# Ranks -> (model, batch, --parallel).
PLANS = {
    1: [("mlp", 64, "data"), ("lenet", 32, "data"), ("gpt_tiny", 8, "data"), ("gpt_tiny", 32, "data"),
        ("resnet_tiny", 16, "data"), ("moe_tiny", 8, "data"), ("alexnet", 4, "data")],
    2: [("mlp", 64, "data"), ("mlp", 64, "tensor"), ("mlp", 64, "zero2"), ("lenet", 32, "data"),
        ("gpt_tiny", 16, "data"), ("gpt_tiny", 16, "tensor"), ("gpt_tiny", 16, "zero1"), ("gpt_tiny", 16, "zero3"),
        ("resnet_tiny", 16, "data"), ("moe_tiny", 8, "data"), ("alexnet", 8, "data"), ("alexnet", 8, "auto")],
    4: [("mlp", 64, "data"), ("mlp", 64, "tensor"), ("lenet", 32, "data"), ("gpt_tiny", 16, "data"),
        ("gpt_tiny", 16, "tensor"), ("gpt_tiny", 16, "zero3"), ("alexnet", 8, "data"), ("alexnet", 8, "auto")],
}
HOST_PLANS = [("gpt_tiny", 16, "data"), ("gpt_tiny", 16, "tensor"), ("gpt_tiny", 16, "zero3"), ("gpt_tiny", 16, "auto"),
              ("mlp", 64, "data"), ("mlp", 64, "tensor"), ("mlp", 64, "auto"), ("alexnet", 8, "data"),
              ("alexnet", 8, "auto")]
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


def measure(folder, launch, ranks, plans, steps):
    """Rows of what was predicted and what was measured, for plans made with a profile of the same launch."""
    cluster = folder / f"cluster{ranks}.yaml"
    execute([*launch, PDC, "profile", "-o", cluster])
    rows = []
    for model, batch, parallel in plans:
        executable, result = folder / "executable", folder / "bench.json"
        execute([PDC, find_model(model), "-o", executable, f"--batch={batch}", f"--ranks={ranks}",
                 f"--parallel={parallel}", f"--cluster={cluster}"])
        execute([*launch, executable, "bench", "--warmup=3", f"--steps={steps}", f"--json={result}"])
        bench = json.loads(result.read_text())
        row = {"model": model, "batch": batch, "ranks": ranks, "parallel": parallel,
               "predicted": bench["predicted_step_time"], "measured": bench["step_time"],
               "predicted_memory": bench["predicted_peak_memory"], "memory": bench["peak_memory"]}
        rows.append(row)
        print(f"{model:12} {batch:4} {ranks:2} {parallel:16} predicted {row['predicted'] * 1e3:9.3f} ms  "
              f"measured {row['measured'] * 1e3:9.3f} ms  {100 * (row['predicted'] / row['measured'] - 1):+6.1f} %  "
              f"memory {row['memory']}{'' if row['memory'] == row['predicted_memory'] else ' IS NOT AS PREDICTED'}",
              flush=True)
    return rows


def rank_of(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    for place, index in enumerate(order):
        ranks[index] = place
    return ranks


def summarize(rows):
    predicted, measured = [row["predicted"] for row in rows], [row["measured"] for row in rows]
    errors = [abs(p / m - 1) for p, m in zip(predicted, measured)]
    n = len(rows)
    difference = sum((a - b)**2 for a, b in zip(rank_of(predicted), rank_of(measured)))
    pairs = [(a, b) for a, b in itertools.combinations(range(n), 2)
             if abs(measured[a] - measured[b]) > DECISIVE * min(measured[a], measured[b])]
    right = sum((predicted[a] < predicted[b]) == (measured[a] < measured[b]) for a, b in pairs)
    of_one = [(a, b) for a, b in pairs if all(rows[a][key] == rows[b][key] for key in ("model", "batch", "ranks"))]
    right_of_one = sum((predicted[a] < predicted[b]) == (measured[a] < measured[b]) for a, b in of_one)
    print(f"{n} plans: mean error {100 * sum(errors) / n:.1f} %, largest {100 * max(errors):.1f} %, "
          f"rank correlation {1 - 6 * difference / (n * (n * n - 1)):.3f}, "
          f"order right in {right} of {len(pairs)} pairs ({right_of_one} of {len(of_one)} among plans of one model), "
          f"memory as predicted in {sum(row['memory'] == row['predicted_memory'] for row in rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ranks", default="1,2,4", help="which numbers of ranks")
    parser.add_argument("--hosts", metavar="RATE", help="two hosts, with links of this rate")
    parser.add_argument("--per-host", type=int, default=1, help="ranks on each host")
    parser.add_argument("--json", help="where the rows go")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if options.hosts:
            os.environ["PDC_TESTBED"] = "truth"
            execute([TESTBED, "up", "--hosts=2", f"--rate={options.hosts}"])
            try:
                rows = measure(folder, [TESTBED, "run", f"--per-host={options.per_host}"], 2 * options.per_host, HOST_PLANS,
                               options.steps)
            finally:
                execute([TESTBED, "down"])
        else:
            for ranks in map(int, options.ranks.split(",")):
                rows += measure(folder, ["mpiexec", "-n", ranks], ranks, PLANS[ranks], options.steps)
    summarize(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
