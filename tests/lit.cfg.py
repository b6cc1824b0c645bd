"""lit: every .mlir and .test file below tests/ is a test; tools come from PDC_LIT_TOOLS, set by lit_runner.sh."""

import os

import lit.formats

config.name = "pdc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ.get("PDC_LIT_OUTPUT", "/tmp/pdc-lit")
config.environment["PATH"] = os.pathsep.join(
    [os.environ.get("PDC_LIT_TOOLS", ""), "/usr/lib/llvm-22/bin", os.environ["PATH"]]
)
for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "HOME", "TEST_TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
