//===- BucketPass.h - all-reduces share messages ----------------*- C++ -*-===//
#ifndef PDC_PASSES_BUCKET_BUCKETPASS_H
#define PDC_PASSES_BUCKET_BUCKETPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/bucket/BucketPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/bucket/BucketPass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_BUCKET_BUCKETPASS_H
