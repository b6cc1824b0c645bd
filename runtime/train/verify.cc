#include "runtime/train/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/train/checkpoint/parts.h"
#include "runtime/train/program_io.h"

namespace pdc::train {
namespace {

using program::BufferKind;
using program::Mode;

constexpr double kFloor = 0.01;       // of the largest gradient
constexpr double kNearlyZero = 1e-7;  // the rounding of f32 numbers of size one

// The difference as a share of `scale`, or as it is where nothing is there to compare it with.
void CompareWith(double scale, Comparison& comparison) {
  comparison.is_absolute = scale < kNearlyZero;
  comparison.relative = comparison.largest_difference / (comparison.is_absolute ? 1 : scale);
}

std::map<std::string, exec::BufferView> ViewsByName(exec::Session& session, Mode mode, BufferKind kind) {
  std::map<std::string, exec::BufferView> views;
  for (const exec::BufferView& view : session.buffers(mode, kind))
    views[PersistentName(*view.description)] = view;
  return views;
}

// Calls use(name, whole value) on rank 0 for every buffer of a kind of the gradient program.
absl::Status ForEachWhole(exec::Session& session, BufferKind kind,
                          const std::function<absl::Status(const PartedValue&, const std::byte*)>& use) {
  PDC_ASSIGN_OR_RETURN(const auto values, FindParts(session.executable(), Mode::kGradient, kind));
  const auto local = ViewsByName(session, Mode::kGradient, kind);
  for (const auto& [name, value] : values) {
    const auto mine = local.find(name);
    PDC_RETURN_IF_ERROR(GatherToRankZero(session.communicator(), session.deadline(), value,
                                         mine == local.end() ? nullptr : mine->second.data,
                                         [&](const std::byte* whole) { return use(value, whole); }));
  }
  return absl::OkStatus();
}

// Parameters and state of the parallel programs into the reference program of rank 0.
absl::Status CopyToReference(exec::Session& session) {
  for (BufferKind kind : {BufferKind::kParameter, BufferKind::kState}) {
    const auto targets = ViewsByName(session, Mode::kReferenceGradient, kind);
    PDC_RETURN_IF_ERROR(ForEachWhole(session, kind, [&](const PartedValue& value, const std::byte* whole) {
      const auto target = targets.find(value.info.name);
      if (target == targets.end() || target->second.description->bytes() != value.info.bytes()) {
        return absl::InternalError(absl::StrCat("the reference program has no '", value.info.name, "' of ",
                                                value.info.bytes(), " bytes"));
      }
      std::memcpy(target->second.data, whole, value.info.bytes());
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

absl::Status RunProgram(exec::Session& session, Mode mode, const BatchBuilder& batches, int64_t step,
                        const VerifyOptions& options) {
  const int64_t batch = batches.inputs()[0].batch, size = batches.dataset().size();
  PDC_RETURN_IF_ERROR(SetScalars(
      session, mode, {.learning_rate = options.learning_rate, .step = step, .seed = options.seed}));
  return session.Run(mode, step,
                     InputsOf(batches, [&](int64_t i) { return ((step - 1) * batch + i) % size; },
                              Padding::kIgnoredLabels));
}

// Gathers the outputs of the gradient program and compares them with the reference's.
absl::Status CompareOutputs(exec::Session& session, int64_t step, std::vector<Comparison>& comparisons) {
  const auto references = ViewsByName(session, Mode::kReferenceGradient, BufferKind::kOutput);
  std::vector<Comparison> gradients, outputs;
  PDC_RETURN_IF_ERROR(
      ForEachWhole(session, BufferKind::kOutput, [&](const PartedValue& value, const std::byte* whole) {
        const auto reference = references.find(value.info.name);
        if (reference == references.end()) {
          return absl::InternalError(
              absl::StrCat("the reference program has no output '", value.info.name, "'"));
        }
        const program::Buffer& buffer = *reference->second.description;
        if (buffer.element_type() != value.info.type || LocalShape(buffer) != value.info.shape) {
          return absl::InternalError(absl::StrCat("the reference program's output '", value.info.name,
                                                  "' is ", ShapeText(LocalShape(buffer)),
                                                  ", the parallel one's ", ShapeText(value.info.shape)));
        }
        Comparison comparison =
            CompareTensors(value.info.type, reference->second.data, whole, ElementCount(value.info.shape));
        comparison.step = step;
        comparison.name = value.info.name;
        if (buffer.parameter()) {
          gradients.push_back(comparison);
        } else {
          outputs.push_back(comparison);
        }
        return absl::OkStatus();
      }));
  FinishOutputs(outputs);
  FinishGradients(gradients);
  comparisons.insert(comparisons.end(), outputs.begin(), outputs.end());
  comparisons.insert(comparisons.end(), gradients.begin(), gradients.end());
  return absl::OkStatus();
}

}  // namespace

void FinishOutputs(std::vector<Comparison>& outputs) {
  for (Comparison& output : outputs) CompareWith(output.largest, output);
}

void FinishGradients(std::vector<Comparison>& gradients) {
  double largest = 0;
  for (const Comparison& gradient : gradients) largest = std::max(largest, gradient.largest);
  for (Comparison& gradient : gradients) CompareWith(std::max(gradient.largest, kFloor * largest), gradient);
}

Comparison CompareTensors(program::ElementType type, const std::byte* reference, const std::byte* value,
                          int64_t count) {
  Comparison comparison;
  for (int64_t i = 0; i < count; ++i) {
    const double expected = ElementAsDouble(type, reference, i), found = ElementAsDouble(type, value, i);
    const double difference = std::abs(expected - found);
    if (std::isnan(difference)) {
      comparison.largest_difference = std::numeric_limits<double>::infinity();
    } else {
      comparison.largest = std::max(comparison.largest, std::abs(expected));
      comparison.largest_difference = std::max(comparison.largest_difference, difference);
    }
  }
  return comparison;
}

absl::StatusOr<std::vector<Comparison>> Verify(exec::Session& session, const VerifyBatches& batches,
                                               const VerifyOptions& options) {
  std::vector<Comparison> comparisons;
  PDC_RETURN_IF_ERROR(InitializeAll(session, Mode::kTrain, options.seed));
  for (int64_t step = 1; step <= options.steps; ++step) {
    PDC_RETURN_IF_ERROR(CopyToReference(session));
    PDC_RETURN_IF_ERROR(RunProgram(session, Mode::kGradient, batches.gradient, step, options));
    if (batches.reference != nullptr) {
      PDC_RETURN_IF_ERROR(RunProgram(session, Mode::kReferenceGradient, *batches.reference, step, options));
    }
    PDC_RETURN_IF_ERROR(CompareOutputs(session, step, comparisons));
    PDC_RETURN_IF_ERROR(RunProgram(session, Mode::kTrain, batches.train, step, options));
  }
  return comparisons;
}

const Comparison* Worst(const std::vector<Comparison>& comparisons) {
  const Comparison* worst = nullptr;
  for (const Comparison& comparison : comparisons) {
    if (worst == nullptr || comparison.relative > worst->relative) worst = &comparison;
  }
  return worst;
}

std::string ToTable(const std::vector<Comparison>& comparisons) {
  std::map<std::string, Comparison> by_name;
  size_t width = 5;
  for (const Comparison& comparison : comparisons) {
    const auto [entry, is_new] = by_name.try_emplace(comparison.name, comparison);
    if (!is_new && comparison.relative > entry->second.relative) entry->second = comparison;
    width = std::max(width, comparison.name.size());
  }
  std::vector<Comparison> rows;
  for (const auto& [name, comparison] : by_name) rows.push_back(comparison);
  std::sort(rows.begin(), rows.end(), [](const Comparison& a, const Comparison& b) {
    return std::tie(a.relative, a.name) < std::tie(b.relative, b.name);
  });
  std::string text = absl::StrFormat("%-*s  %6s  %12s  %12s  %12s\n", static_cast<int>(width), "value",
                                     "step", "largest", "difference", "relative");
  for (const Comparison& row : rows) {
    absl::StrAppendFormat(&text, "%-*s  %6d  %12.4e  %12.4e  %12.4e%s\n", static_cast<int>(width), row.name,
                          row.step, row.largest, row.largest_difference, row.relative,
                          row.is_absolute ? "  absolute" : "");
  }
  return text;
}

}  // namespace pdc::train
