//===- Registration.cpp - every pass of this project ----------------------===//
//
// One line for each folder of passes/.
//
//===----------------------------------------------------------------------===//

#include "passes/Registration.h"
#include "passes/autodiff/AutodiffPass.h"
#include "passes/bias/BiasPasses.h"
#include "passes/bucket/BucketPass.h"
#include "passes/decompose/DecomposePass.h"
#include "passes/fuse/FusePass.h"
#include "passes/lower/LowerPass.h"
#include "passes/memory/MemoryPass.h"
#include "passes/partition/PartitionPass.h"
#include "passes/pipeline/PipelinePass.h"
#include "passes/plan_data_parallel/PlanDataParallelPass.h"
#include "passes/precision/PrecisionPass.h"
#include "passes/recompute/RecomputePass.h"
#include "passes/separate_projections/SeparateProjectionsPass.h"
#include "passes/specialize/SpecializePass.h"
#include "passes/verify/VerifyPasses.h"
#include "passes/verify_parallel/VerifyParallelPasses.h"

void pdc::registerAllPasses() {
  passes::registerAutodiffPasses();
  passes::registerBiasPasses();
  passes::registerBucketPasses();
  passes::registerDecomposePasses();
  passes::registerFusePasses();
  passes::registerLowerPasses();
  passes::registerMemoryPasses();
  passes::registerPartitionPasses();
  passes::registerPipelinePasses();
  passes::registerPlanDataParallelPasses();
  passes::registerPrecisionPasses();
  passes::registerRecomputePasses();
  passes::registerSeparateProjectionsPasses();
  passes::registerSpecializePasses();
  passes::registerVerifyPasses();
  passes::registerVerifyParallelPasses();
}
