#pragma once

#include <string>
#include <string_view>

#include "run/gpu_trace.h"

namespace ergometer::importer {

/// What stands beside a trace's events; -1, 0 and empty where nothing does.
struct Metadata {
  int64_t rank = -1, world_size = -1, base_time_ns = 0;
  bool distributed = false;  ///< there is a process group: the rank means something
  std::string gpu, trace_name;
};

/// Whether a member of the top object is one that `read_member` understands.
bool is_metadata(std::string_view key);
/// Takes what a member says; a value of another form than expected says nothing.
void read_member(std::string_view key, std::string_view json, Metadata& metadata);

}  // namespace ergometer::importer
