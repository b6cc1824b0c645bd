//===- NNOps.td - every op of the nn dialect ----------------*- tablegen -*-===//
include "dialects/nn/IR/NNStructure.td"
include "dialects/nn/IR/NNElementwise.td"
include "dialects/nn/IR/NNContraction.td"
include "dialects/nn/IR/NNShape.td"
include "dialects/nn/IR/NNLayer.td"
include "dialects/nn/IR/NNRouting.td"
