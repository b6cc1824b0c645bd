"""Drives pdc and the executables that it writes as a user does: files, command lines, exit codes, what is printed.

Every command has a time limit: a hang is a failure. Python's standard library only, also for the readers of what
executables write (safetensors, npy): they know nothing of our code.
"""

import array
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

PDC = os.path.abspath(os.environ.get("PDC", "tools/pdc/pdc"))
ROOT = os.getcwd()
# Sanitizers make everything slower.
TIME_FACTOR = float(os.environ.get("PDC_TEST_TIME_FACTOR", "1"))
LIMIT_SECONDS = 60

os.environ.update({
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
})


def model(name):
    """A model of this folder, or else of models/."""
    own = os.path.join(ROOT, "tests/e2e", name + ".mlir")
    return own if os.path.exists(own) else os.path.join(ROOT, "models", name + ".mlir")


class Result:
    """How a command ended: exit code, what it printed, and how long it took."""

    def __init__(self, command, code, out, err, seconds):
        self.command, self.code, self.out, self.err, self.seconds = command, code, out, err, seconds

    def __str__(self):
        return f"{' '.join(self.command)}\nexit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Job:
    """A command that runs in the background; `ranks()` are the processes that mpiexec started."""

    def __init__(self, command, cwd, **popen):
        self.command = command
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        popen.setdefault("stdout", self._out)
        popen.setdefault("stderr", self._err)
        self._begin = time.monotonic()
        self.process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, **popen)

    def ranks(self):
        """Process ids by rank."""
        found = {}
        for entry in os.listdir("/proc"):
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
                if parent != self.process.pid:
                    continue
                with open(f"/proc/{entry}/environ", "rb") as environ:
                    for variable in environ.read().split(b"\0"):
                        if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                            found[int(variable.split(b"=")[1])] = int(entry)
            except (OSError, ValueError):
                continue
        return found

    def wait(self, limit=LIMIT_SECONDS):
        """The Result; a job that is still running after `limit` seconds is ended, and that is a failure."""
        limit *= TIME_FACTOR
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"still running after {limit} s:\n{self._result(None)}") from None
        return self._result(code)

    def end(self):
        for pid in self.ranks().values():
            os.kill(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _result(self, code):
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return Result(self.command, code, *texts, time.monotonic() - self._begin)


def start(command, cwd=None, **popen):
    return Job([str(word) for word in command], cwd, **popen)


def run(command, cwd=None, limit=LIMIT_SECONDS, **popen):
    return start(command, cwd, **popen).wait(limit)


class EndToEndTest(unittest.TestCase):
    """A folder for the tests of a class, and executables made once in it."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="e2e.", dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls._executables = {}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="case.", dir=self.shared)

    def path(self, name):
        return os.path.join(self.folder, name)

    @classmethod
    def executable(cls, name, ranks, batch, *options):
        """The executable of a model; the same one for the same arguments."""
        key = (name, ranks, batch, options)
        if key not in cls._executables:
            path = os.path.join(cls.shared, f"{name}-{len(cls._executables)}")
            parallel = [] if any(option.startswith("--parallel") for option in options) else ["--parallel=data"]
            result = run([PDC, model(name), "-o", path, f"--ranks={ranks}", f"--batch={batch}", *parallel, *options])
            assert result.code == 0, str(result)
            cls._executables[key] = path
        return cls._executables[key]

    def start(self, executable, ranks, *arguments, **popen):
        return start(["mpiexec", "-n", ranks, executable, *arguments], self.folder, **popen)

    def run_ranks(self, executable, ranks, *arguments, limit=LIMIT_SECONDS, **popen):
        return self.start(executable, ranks, *arguments, **popen).wait(limit)

    def succeed(self, executable, ranks, *arguments, **popen):
        """Runs an executable that must succeed without a word on standard error."""
        result = self.run_ranks(executable, ranks, *arguments, **popen)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.err, "", str(result))
        return result

    def refuse(self, executable, ranks, *arguments, says, each_rank=False, **popen):
        """Runs an executable that must fail: one line of its own that holds every text of `says`.

        `each_rank`: several ranks may find something wrong with their own parts at once.
        """
        result = self.run_ranks(executable, ranks, *arguments, **popen)
        self.assert_refused(result, os.path.basename(executable), says, ranks if each_rank else 1)
        return result

    def refuse_pdc(self, *arguments, says):
        result = run([PDC, *arguments], self.folder)
        self.assert_refused(result, "pdc", says)
        return result
        return result

    def assert_refused(self, result, program, says, most_lines=1):
        self.assertNotEqual(result.code, 0, str(result))
        self.assertGreater(result.code, 0, f"ended by a signal\n{result}")
        # mpiexec adds its own words; ours begin with the program's name, or are a line of the log.
        lines = [line for line in result.err.splitlines() if line.startswith(program + ": ") or "the job ends" in line]
        self.assertIn(len(lines), range(1, most_lines + 1), f"not one line of its own:\n{result}")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, lines[0], str(result))
        self.assertNotIn("Signal: ", result.err, str(result))  # Open MPI's report of a crash


def losses(log):
    """The losses of a --log file, which must hold the keys of the contract and count steps from 1."""
    values = []
    with open(log) as file:
        for number, line in enumerate(file, 1):
            record = json.loads(line)
            assert {"step", "loss", "step_time", "tokens_per_second"} <= record.keys(), line
            assert record["step"] == number, line
            values.append(record["loss"])
    return values


def relative_difference(a, b):
    """The largest of two series."""
    return max(abs(x - y) / max(abs(x), 1e-30) for x, y in zip(a, b, strict=True))


def text_file(path, size=4000):
    """Text with something to learn in it."""
    words = "".join(f"the quick brown fox {i % 7} jumps over the lazy dog. " for i in range(size // 45 + 1))
    write(path, words[:size].encode())
    return path


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def random_floats(count, seed=1):
    """Floats in [-1, 1) of a linear congruential generator, the same everywhere."""
    values = array.array("f")
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        values.append(seed / 2**30 - 1)
    return values


def npy(path, code, shape, values):
    """Writes NumPy's format 1.0; `code` is one of the array module's."""
    kind = {"f": "<f4", "d": "<f8", "i": "<i4", "q": "<i8", "B": "|u1"}[code]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({''.join(f'{d}, ' for d in shape)}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    return write(path, head + array.array(code, values).tobytes())


def read_npy(path):
    """(shape, values) of a file of f32."""
    data = read(path)
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack("<H", data[8:10])
    header = eval(data[10:10 + length].decode(), {"__builtins__": {}})  # a Python literal by definition
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    values = array.array("f", data[10 + length:])
    assert len(values) == math.prod(header["shape"]), header
    return header["shape"], values


def idx(path, shape, values):
    """Writes the format of MNIST, unsigned bytes."""
    return write(path, struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + bytes(values))


def read_safetensors(path):
    """(metadata, {name: (type, shape, bytes)}), checked as huggingface.co/docs/safetensors describes the format."""
    data = read(path)
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    body = data[8 + length:]
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(v, str) for v in metadata.values()), metadata
    sizes = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
    tensors, end = {}, 0
    for name, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = tensor["data_offsets"]
        assert begin == end, f"a hole before {name}"
        assert stop - begin == math.prod(tensor["shape"]) * sizes[tensor["dtype"]], name
        tensors[name] = (tensor["dtype"], tensor["shape"], body[begin:stop])
        end = stop
    assert end == len(body), "bytes after the last tensor"
    return metadata, tensors


class _JUnitResult(unittest.TextTestResult):
    """Also notes every case for the file that Bazel keeps, which tools/test.sh counts."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.suite = xml.etree.ElementTree.Element("testsuite", name=os.path.basename(sys.argv[0]))

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()

    def stopTest(self, test):
        case = xml.etree.ElementTree.SubElement(self.suite, "testcase", name=test._testMethodName,
                                                classname=type(test).__name__,
                                                time=f"{time.monotonic() - self._begin:.2f}")
        for tag, found in (("failure", self.failures), ("error", self.errors), ("skipped", self.skipped)):
            for failed, text in found:
                # A failed subTest belongs to its case.
                if (getattr(failed, "test_case", failed)) is test:
                    xml.etree.ElementTree.SubElement(case, tag).text = text
        super().stopTest(test)


def main():
    program = unittest.main(module="__main__", exit=False, verbosity=2,
                            testRunner=unittest.TextTestRunner(resultclass=_JUnitResult, verbosity=2))
    result = program.result
    outside = [failed for failed, _ in result.errors if not isinstance(failed, unittest.TestCase)]
    for failed in outside:  # setUpClass
        case = xml.etree.ElementTree.SubElement(result.suite, "testcase", name=str(failed), classname="setup")
        xml.etree.ElementTree.SubElement(case, "error")
    if "XML_OUTPUT_FILE" in os.environ:
        tree = xml.etree.ElementTree.Element("testsuites")
        tree.append(result.suite)
        xml.etree.ElementTree.ElementTree(tree).write(os.environ["XML_OUTPUT_FILE"])
    sys.exit(not result.wasSuccessful())
