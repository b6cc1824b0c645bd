// What must be true of rank programs before they run. pdc checks what it is about to write, and an executable
// what it is about to run; the same rules hold for programs that another compiler made.
//
// Of each program:
//   - a buffer lies inside its arena at a multiple of 64 bytes and holds its shape; a constant brings its bytes;
//   - a view lies inside its buffer, has its element type (temporaries may be viewed as any) and writes no element
//     twice;
//   - a buffer is used only between first_use and last_use; buffers that overlap in memory are not both live at one
//     instruction (inputs and scalar inputs are live from before the first instruction, outputs until after the last,
//     persistent buffers and constants always);
//   - what is read has been written: by an earlier instruction, or before the step (persistent, inputs, scalar inputs,
//     constants); every output has been written at the end;
//   - a library call or a copy does not write what it reads;
//   - collectives, sends and receives are ended by exactly one kCollectiveDone; until then nothing writes the memory
//     that they work on, under whatever buffer it is known, and nothing reads what they write;
//   - collectives work on dense views in the shared arena, with a valid group, root, and counts; a reference_gradient
//     program communicates with nobody;
//   - a kernel is called as it was generated for: its accesses, types, shapes, strides and parallel extent.
// Of each rank: it has at most one program per mode, it is a member of every group whose collectives it runs and has
// written its part of what an all_gather or a broadcast hands round, and a persistent buffer lies at the same place
// in all of its programs that share arenas, below everything else.
// Of the job, in each mode:
//   - the members of a group start the same collectives on it in the same order: kind, elements, type, counts,
//     reduction, root, tag;
//   - the n-th send from one rank to another with one tag and the n-th receive have the same shape and type;
//   - no rank waits for ever, even if a send is over only when its receive has started (check_schedule.cc says what
//     waits, and why one run of all programs decides it). The error names ranks and instructions: a rank that waits
//     and one that never does what it waits for, or a smallest cycle of ranks that wait for each other.
//
// Takes time nearly in proportion to the instructions of all ranks. Programs that several ranks share are looked at
// once; only what they say to each other is followed for every rank.
#ifndef PDC_RUNTIME_PROGRAM_CHECKER_H_
#define PDC_RUNTIME_PROGRAM_CHECKER_H_

#include "absl/status/status.h"
#include "runtime/program/program_generated.h"

namespace pdc::program {

// INVALID_ARGUMENT that names the program, the instruction's index and label, and the rule. `executable` came
// from ReadExecutable().
absl::Status CheckExecutable(const Executable& executable);

// The rules of one program of a job of `ranks` ranks.
absl::Status CheckProgram(const Program& program, int ranks);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_CHECKER_H_
