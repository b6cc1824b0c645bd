//===- Transfer.h - from the ranks of one mesh to those of another -*- C++ -*-===//
//
// Two stages of a pipeline have meshes and layouts of their own. A rank of the receiving stage needs a box of the value; the
// ranks of the sending stage hold boxes. Each box that is needed is put together of its intersections with boxes that are
// held (Zhuang et al., On optimizing the communication of model parallelism, 2023, "cross-mesh resharding"):
//
//     held, 2 ranks    |   0   |   1   |          rank 2 gets its box from rank 0, rank 4 from rank 1,
//     needed, 3 ranks  |  2  |  3  |  4  |        rank 3 half from each
//
// Where several ranks hold the same box, those that need a piece of it take turns among them.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_LAYOUTS_TRANSFER_H
#define PDC_PASSES_LAYOUTS_TRANSFER_H

#include "passes/layouts/Reshard.h"

namespace pdc::passes {

/// What one rank sends another: a box of the whole value.
struct TransferPiece {
  int64_t from, to;
  LocalPart box;
};

/// All pieces of a value of this shape, by receiver; those of one receiver in row-major order of where they begin. Neither
/// layout is partial. Where fewer ranks need a box than hold it, the one whose turn it is sends it: `turn` counts messages,
/// so that all holders get to send.
llvm::SmallVector<TransferPiece> planTransfer(dist::LayoutAttr from, dist::MeshOp fromMesh, dist::LayoutAttr to,
                                              dist::MeshOp toMesh, llvm::ArrayRef<int64_t> shape, int64_t turn);

} // namespace pdc::passes

#endif // PDC_PASSES_LAYOUTS_TRANSFER_H
