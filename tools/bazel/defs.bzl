"""Macros of this project: C++ targets with its warnings, TableGen, lit suites, FlatBuffers schemas."""

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]

def pdc_cc_library(name, copts = [], **kwargs):
    """A cc_library compiled with the project's warnings as errors."""
    native.cc_library(name = name, copts = WARNINGS + copts, **kwargs)

def pdc_cc_binary(name, copts = [], **kwargs):
    """A cc_binary compiled with the project's warnings as errors."""
    native.cc_binary(name = name, copts = WARNINGS + copts, **kwargs)

def pdc_cc_test(name, copts = [], deps = [], main = True, size = "small", **kwargs):
    """A GoogleTest; `main = False` for a test that brings its own main()."""
    native.cc_test(
        name = name,
        copts = WARNINGS + copts,
        size = size,
        deps = deps + (["@system//:gtest_main"] if main else ["@system//:gtest"]),
        **kwargs
    )

def mlir_tblgen(name, td_file, outs, td_deps = [], **kwargs):
    """Runs mlir-tblgen once for each (flags, file) of `outs` and offers the files as a header library.

    Args:
      name: the library that C++ targets depend on.
      td_file: the TableGen file.
      outs: a list of (flags, output file name).
      td_deps: other .td files of this project that `td_file` includes.
      **kwargs: for the cc_library.
    """
    for i, (flags, out) in enumerate(outs):
        native.genrule(
            name = "%s_gen%d" % (name, i),
            srcs = [td_file] + td_deps,
            outs = [out],
            cmd = "$(location @llvm//:bin/mlir-tblgen) %s -I . -I /usr/lib/llvm-22/include $(location %s) -o $@" % (flags, td_file),
            tools = ["@llvm//:bin/mlir-tblgen"],
        )
    native.cc_library(
        name = name,
        textual_hdrs = [out for (_, out) in outs],
        deps = ["@llvm//:mlir"],
        **kwargs
    )

def flatbuffers_schema(name, src, out, **kwargs):
    """A C++ header with accessors, verifier and plain structs (the object API) of a FlatBuffers schema."""
    native.genrule(
        name = name + "_gen",
        srcs = [src],
        outs = [out],
        cmd = "/usr/bin/flatc --cpp --cpp-std c++17 --scoped-enums --gen-object-api --filename-suffix _generated " +
              "-o $(@D) $(location %s)" % src,
    )
    native.cc_library(name = name, hdrs = [out], deps = ["@system//:flatbuffers"], **kwargs)

def lit_suite(name, tools, srcs = None, data = [], size = "medium", **kwargs):
    """One Bazel test that runs every lit file of this folder.

    Args:
      name: the test.
      tools: binaries that the RUN lines call by their own names.
      srcs: the lit files; every .mlir and .test file below this folder if not given.
      data: other files that the tests read.
      size: Bazel's test size.
      **kwargs: for the sh_test.
    """
    srcs = srcs or native.glob(["**/*.mlir", "**/*.test"])
    native.sh_test(
        name = name,
        srcs = ["//tools/bazel:lit_runner.sh"],
        args = ["$(location %s)" % t for t in tools] + ["--"] + ["$(location %s)" % s for s in srcs],
        data = srcs + tools + data + ["//tests:lit.cfg.py"],
        size = size,
        **kwargs
    )
