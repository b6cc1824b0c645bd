#!/usr/bin/env bash
# Writes compile_commands.json at the top of the repository, for clangd and other tools that read it.
#
#   tools/compile_commands.sh                        all targets
#   tools/compile_commands.sh //passes/... //tests/passes/...   some of them
#
# Also builds what is generated (TableGen, FlatBuffers), without which sources cannot be read.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- //...
targets=$(printf ' + %s' "$@")
targets=${targets# + }

bazel build --keep_going $(bazel query --noshow_progress "kind(genrule, deps($targets)) intersect //...:*" |
  grep -v -e ':launcher_object$') >&2
root=$(bazel info execution_root 2>/dev/null)
bazel aquery --noshow_progress --include_artifacts=false --output=jsonproto "mnemonic(CppCompile, $targets)" |
  python3 -c '
import json, os, sys

workspace, root = sys.argv[1:]
commands = {}
for action in json.load(sys.stdin).get("actions", []):
    arguments = action["arguments"]
    source = arguments[arguments.index("-c") + 1]
    if source.startswith("external/") or source in commands:
        continue
    # Paths of other repositories exist below the execution root only.
    arguments = [a.replace("external/", root + "/external/") if "external/" in a else a for a in arguments]
    commands[source] = {"directory": workspace, "file": source, "arguments": arguments}
path = os.path.join(workspace, "compile_commands.json")
with open(path + ".new", "w") as file:
    json.dump([commands[source] for source in sorted(commands)], file, indent=1)
os.replace(path + ".new", path)
print(f"{path}: {len(commands)} files")
' "$PWD" "$root"
