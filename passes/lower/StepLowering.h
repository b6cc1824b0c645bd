//===- StepLowering.h - one step becomes one rank program -------*- C++ -*-===//
#ifndef PDC_PASSES_LOWER_STEPLOWERING_H
#define PDC_PASSES_LOWER_STEPLOWERING_H

#include "dialects/rt/IR/Rt.h"
#include "passes/lower/Kernels.h"
#include "passes/lower/Placement.h"
#include "passes/lower/Strided.h"
#include <vector>

namespace pdc::passes {

/// A value in memory.
struct Place {
  rt::BufferOp buffer;
  Strided view;
};

class StepLowering {
public:
  StepLowering(nn::StepOp step, Kernels &kernels);

  /// Builds an rt.program before the step.
  mlir::LogicalResult run();

private:
  // Buffers and views (StepBuffers.cpp).
  /// Samples of an input that each of the ranks loads, and where they begin in the batch.
  struct SampleRange {
    int64_t batch, local;
    llvm::SmallVector<int64_t> starts;
  };

  mlir::LogicalResult createProgram();
  mlir::LogicalResult checkBatchParts();
  SampleRange samplesOfRanks();
  llvm::SmallVector<int64_t> globalStarts(mlir::DictionaryAttr attributes, mlir::RankedTensorType whole);
  mlir::LogicalResult createArgument(mlir::BlockArgument argument);
  rt::BufferOp createBuffer(rt::BufferKind kind, rt::Segment segment, llvm::StringRef name,
                            llvm::ArrayRef<int64_t> shape, mlir::Type elementType);
  Place newPlace(mlir::Value value, llvm::StringRef label);
  Place newPiece(const Place &like, llvm::StringRef label);
  void setGlobalPlace(rt::BufferOp buffer, mlir::DictionaryAttr attributes, mlir::RankedTensorType type);
  mlir::Value viewOf(const Place &place);
  /// Before an instruction touches a buffer: waits for a collective or for receives that work on it.
  mlir::Value memory(const Place &place);
  /// Before an instruction writes into a buffer: also waits until it is sent.
  mlir::Value written(const Place &place);
  mlir::Value denseCopy(mlir::Value value);
  void copy(const Place &from, const Place &to, llvm::StringRef label);

  // Where values are computed (before any instruction exists).
  void choosePlaces();
  void tryPlace(mlir::Value value, Place place);
  void placeOutputs(mlir::Operation *terminator);
  void placeParts(nn::ConcatOp concat);

  // Ops.
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerConstant(nn::ConstantOp constant);
  mlir::LogicalResult lowerFusion(nn::FusionOp fusion);
  mlir::LogicalResult lowerLibrary(nn::LibraryOpInterface op);
  mlir::LogicalResult lowerView(mlir::Operation *op);
  mlir::LogicalResult lowerConcat(nn::ConcatOp concat);
  mlir::LogicalResult lowerPad(nn::PadOp pad);
  mlir::LogicalResult lowerReturn(mlir::Operation *terminator);

  // Collectives (Collectives.cpp).
  struct Members;
  Members membersOf(mlir::Operation *op, mlir::FlatSymbolRefAttr meshName, mlir::ArrayAttr axes);
  void placeReduced(dist::AllReduceOp reduce);
  void placeCommunicated(mlir::Operation *op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);
  mlir::LogicalResult lowerAllReduce(dist::AllReduceOp reduce);
  mlir::LogicalResult lowerAllGather(dist::AllGatherOp gather);
  mlir::LogicalResult lowerReduceScatter(dist::ReduceScatterOp scatter);
  mlir::LogicalResult lowerAllToAll(dist::AllToAllOp exchange);
  mlir::LogicalResult lowerBroadcast(dist::BroadcastOp broadcast);
  mlir::LogicalResult lowerShardStart(dist::ShardStartOp start);
  Strided sliceView(dist::SliceOp slice, const Strided &view);
  void start(mlir::Operation *op, llvm::StringRef target, rt::BufferOp memory, rt::BufferOp sent,
             const Members &members, dist::Reduction reduction, llvm::ArrayRef<int64_t> counts, int64_t root);
  void finishPending(rt::BufferOp buffer);
  void copyInto(mlir::Value value, const Place &place, llvm::StringRef label);
  void pack(mlir::Value value, int64_t dim, llvm::ArrayRef<int64_t> sizes, rt::BufferOp buffer, int64_t pitch,
            llvm::StringRef label);
  void unpack(rt::BufferOp buffer, llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes, int64_t dim,
              int64_t pitch, mlir::Value result, llvm::StringRef label);
  mlir::LogicalResult lowerHaloExchange(dist::HaloExchangeOp exchange); // HaloLowering.cpp
  // Messages between stages (MessageLowering.cpp).
  mlir::LogicalResult lowerMessage(mlir::Operation *op);
  void lowerSend(dist::SendOp send);
  void lowerReceive(dist::ReceiveOp receive);
  void lowerSendWait(dist::SendWaitOp wait);
  void finishSends(rt::BufferOp buffer);
  void share(rt::BufferOp buffer);

  Place resultPlace(mlir::Value result, llvm::StringRef label);
  std::optional<Place> libraryView(const Place &place, const nn::LibraryCall &call,
                                   llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> dims);
  mlir::FloatAttr number(double value) { return b.getF64FloatAttr(value); }

  nn::StepOp step;
  Kernels &kernels;
  Placement placement;
  mlir::OpBuilder b;       // instructions
  mlir::OpBuilder buffers; // buffers, all before the instructions
  rt::ProgramOp program;
  dist::MeshOp mesh; // null for the reference
  llvm::SmallVector<int64_t> ranks;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, Place> destinations; // of values that are to be computed in a given place
  llvm::DenseMap<mlir::Operation *, std::vector<Place>> slots; // of the operands of collectives and concats
  llvm::SmallVector<rt::BufferOp> outputs;                     // per result of the step; null for updates
  llvm::DenseMap<mlir::Value, Place> copies;
  /// By buffer, what works on it: a collective, or the receives of its parts.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 1>> pending;
  struct Send {
    mlir::Attribute peers;
    int64_t tag; // which message to them
    mlir::Value token;
  };
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Send>> sending; // by buffer, until they are waited for
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Type, mlir::Attribute>, mlir::Value> views;
  llvm::DenseMap<mlir::Attribute, Place> constants;
};

/// What a person calls the op: its name in the model, and `what` it does.
std::string labelOf(mlir::Operation *op, llvm::StringRef what);

} // namespace pdc::passes

#endif // PDC_PASSES_LOWER_STEPLOWERING_H
