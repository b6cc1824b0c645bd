//===- VerifyPasses.td - what each phase promises -----------*- tablegen -*-===//
//
// After each major lowering, a pass that changes nothing and says what may no longer exist.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_VERIFY_VERIFYPASSES_TD
#define PDC_PASSES_VERIFY_VERIFYPASSES_TD

include "mlir/Pass/PassBase.td"

def VerifySpecializedPass : Pass<"verify-specialized", "::mlir::ModuleOp"> {
  let summary = "Checks that blocks are expanded, shapes are static and names are unique";
  let description = [{
    After `specialize`, in each `nn.model`: no `nn.block`, `nn.call` or `nn.repeat`; every type is static; the names of
    parameters and states are unique; every `nn.dropout` has a `stream`, no two the same.

    ```mlir
    nn.model @m(%x: tensor<?x8xf32>) -> tensor<?x8xf32> { ... }   // error: argument 0 is tensor<?x8xf32>
    nn.model @m(%x: tensor<4x8xf32>) -> tensor<4x8xf32> { ... }   // passes
    ```
  }];
}

def VerifyStepPass : Pass<"verify-step", "::mlir::ModuleOp"> {
  let summary = "Checks that steps are complete: roles, initial values, a new value for each that is trained";
  let description = [{
    After `autodiff`: no `nn.model`; in each `nn.step` no composite op of stage `before-autodiff` and no parameter,
    state, assignment or seed op; every argument and result has a role that its kind of step allows, and a name;
    parameters, optimizer state and states have an initial distribution; every new value has its argument, of the same
    role, name, slot and type, and in training every parameter and every slot has its new value; the loss is one
    floating-point scalar; a gradient has its parameter's type.

    ```mlir
    // error: result 1 is the new value of parameter "w", which is no argument
    nn.step @train(...) -> (...) { ... }
    ```
  }];
}

#endif // PDC_PASSES_VERIFY_VERIFYPASSES_TD
