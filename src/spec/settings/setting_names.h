#pragma once

#include <string_view>

// Names of the settings (`setting_table()`) that several files ask for.
namespace ergometer::spec {

inline constexpr std::string_view kTp = "tensor_model_parallel_size";
inline constexpr std::string_view kPp = "pipeline_model_parallel_size";
inline constexpr std::string_view kVpp = "virtual_pipeline_model_parallel_size";
inline constexpr std::string_view kCp = "context_parallel_size";
inline constexpr std::string_view kEp = "expert_model_parallel_size";
inline constexpr std::string_view kEtp = "expert_tensor_parallel_size";
inline constexpr std::string_view kDp = "data_parallel_size";
inline constexpr std::string_view kSp = "sequence_parallel";
inline constexpr std::string_view kMbs = "micro_batch_size";
inline constexpr std::string_view kGbs = "global_batch_size";
inline constexpr std::string_view kRankMap = "rank_map";
inline constexpr std::string_view kScheduleFile = "schedule_file";

}  // namespace ergometer::spec
