#!/usr/bin/env python3
"""Training steps as a share of the machine's sgemm rate, measured in one run.

    bazel build //tools/pdc //tools/bench:sgemm && tools/bench/train.py [--steps=5]

One rank, one thread, f32: GPT-2 small at batch 4 and sequence 64 with adamw, VGG-16 at batch 8 with sgd; and
the time that pdc takes for GPT-2 medium. Rates are given by the wall clock and by processor time: on a machine
that other programs keep busy only the second says something. README.md has figures.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PDC = ROOT / "bazel-bin/tools/pdc/pdc"
SGEMM = ROOT / "bazel-bin/tools/bench/sgemm"


def compile_model(model, output, *options):
    begin = time.monotonic()
    subprocess.run([PDC, model, "-o", output, *options], check=True)
    return time.monotonic() - begin


def measure_step(executable, steps):
    result = executable.with_suffix(".json")
    subprocess.run([executable, "bench", "--warmup=1", f"--steps={steps}", f"--json={result}"], check=True,
                   stdout=subprocess.DEVNULL)
    return json.loads(result.read_text())


def sgemm_rate():
    output = subprocess.run([SGEMM], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)["square"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        short = folder / "gpt2_small_64.mlir"
        short.write_text((ROOT / "models/gpt2_small.mlir").read_text().replace("1024", "64"))
        jobs = (("gpt2_small 4 x 64", short, ["--batch=4", "--optimizer=adamw"]),
                ("vgg16 8", ROOT / "models/vgg16.mlir", ["--batch=8", "--optimizer=sgd"]))
        for name, model, options in jobs:
            executable = folder / model.stem
            compile_model(model, executable, *options)
            before, step, after = sgemm_rate(), measure_step(executable, steps), sgemm_rate()
            gflop = step["flops_per_step"] / 1e9
            for clock, seconds, key in (("wall", step["step_time"], "median"),
                                        ("processor", step["processor_time"], "median_by_processor_time")):
                sgemm = (before[key] + after[key]) / 2
                rate = gflop / seconds
                print(f"{name:18} {clock:9} step {seconds:7.3f} s  {rate:6.1f} GFLOP/s  "
                      f"sgemm {sgemm:6.1f} GFLOP/s  share {100 * rate / sgemm:3.0f} %", flush=True)
        seconds = compile_model(ROOT / "models/gpt2_medium.mlir", folder / "medium", "--batch=1")
        print(f"{'gpt2_medium':18} compiled in {seconds:.1f} s")


if __name__ == "__main__":
    main()
