#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "spec/job.h"

namespace ergometer::report {

/// The `job` object of the summary: model, cluster, parallelism, training, conditions, as resolved.
/// It is stored in the Run, so that whoever reads a Run later needs nothing else to know what was
/// run.
std::string job_json(const spec::Job& job);

/// A member that is a list, on one line.
void write_numbers(base::JsonWriter& json, const char* name, const std::vector<int64_t>& numbers);

// The words of the settings' choices, as users write them.
std::string_view to_word(spec::Schedule schedule);
std::string_view to_word(spec::CpComm comm);
std::string_view to_word(spec::Recompute recompute);
std::string_view to_word(spec::RecomputeMethod method);
std::string_view to_word(spec::Precision precision);
std::string_view to_word(spec::Fp8Recipe recipe);
std::string_view to_word(spec::Mode mode);
std::string_view to_word(spec::MoeDispatcher dispatcher);
/// The setting beside "flex", also where another dispatcher leaves it without meaning.
std::string_view flex_backend(spec::MoeDispatcher dispatcher);
std::string_view to_word(spec::AttentionBackend backend);
std::string_view to_word(spec::Framework framework);
std::string_view to_word(spec::IntraKind kind);
std::string_view to_word(spec::FabricKind kind);
std::string_view to_word(spec::Cooling cooling);
std::string_view to_word(spec::Sensor sensor);

}  // namespace ergometer::report
