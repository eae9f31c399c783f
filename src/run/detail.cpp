#include "run/detail.h"

#include <array>

namespace ergometer::run {
namespace {

/// In the order of PipelineTask::Kind.
constexpr std::array<std::string_view, 14> kTaskKinds = {"forward",
                                                         "backward",
                                                         "backward_input",
                                                         "backward_weight",
                                                         "send",
                                                         "receive",
                                                         "optimizer",
                                                         "other",
                                                         "gradient_reduction",
                                                         "parameter_gather",
                                                         "embedding_reduction",
                                                         "gradient_norm",
                                                         "host",
                                                         "wait"};

/// Sums of two such times stay within 64 bits.
constexpr int64_t kLargestTime = (int64_t{1} << 62) - 1;

}  // namespace

std::string_view task_kind_name(PipelineTask::Kind kind) {
  return kTaskKinds[static_cast<size_t>(kind)];
}

bool is_possible(const PipelineTask& task) {
  return task.start_ns >= -kLargestTime && task.start_ns <= kLargestTime && task.duration_ns >= 0 &&
         task.duration_ns <= 2 * kLargestTime && task.start_ns + task.duration_ns <= kLargestTime;
}

}  // namespace ergometer::run
