#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "import/operations/operations.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

constexpr int64_t kMostGroup = int64_t{1} << 20;

bool is_size(std::string_view key) {
  return key == "dp_size" || key == "pp_size" || key == "tp_size" || key == "vpp_size" ||
         key == "dsp_size" || key == "world_size";
}

using Sizes = std::map<std::string, int64_t, std::less<>>;

Result<void> read_size(std::string_view line, const std::string& at, Sizes& sizes) {
  const size_t colon = line.find(':');
  const std::string_view key = trim(line.substr(0, colon));
  if (colon == std::string_view::npos || !is_size(key)) return {};
  std::string_view value = line.substr(colon + 1);
  value = trim(value.substr(0, value.find('#')));
  if (value == "null" || value == "~" || value == "None") return {};
  const auto size = base::parse_integer(value);
  if (!size || *size < 1 || *size > kMostGroup)
    return input_error("{}: {} = {}, allowed: a whole number from 1 to {}", at, key, value,
                       kMostGroup);
  if (!sizes.emplace(key, *size).second) return input_error("{}: {} stands there twice", at, key);
  return {};
}

}  // namespace

Result<run::OperationGroups> read_operation_groups(std::string_view text, const std::string& file) {
  Sizes sizes;
  int line = 0;
  for (const std::string& row : base::split(text, '\n'))
    ERGOMETER_TRY(read_size(row, fmt::format("{}:{}", file, ++line), sizes));
  for (const char* key : {"dp_size", "pp_size"})
    if (!sizes.contains(key))
      return input_error(
          "{}: {} is missing; allowed: dp_size, pp_size, tp_size, vpp_size, dsp_size "
          "and world_size, a line each",
          file, key);
  const auto size = [&](const char* key) { return sizes.contains(key) ? sizes.at(key) : 1; };
  run::OperationGroups groups{size("pp_size"), size("dp_size"), size("tp_size") * size("dsp_size"),
                              size("vpp_size")};
  if (groups.lanes > kMostGroup || groups.stages * groups.replicas > kMostGroup ||
      groups.ranks() > kMostGroup)
    return input_error("{}: more than {} ranks", file, kMostGroup);
  if (!sizes.contains("world_size") || sizes.at("world_size") == groups.ranks()) return groups;
  groups.lanes = size("tp_size");  // some count sequence-parallel ranks within data parallelism
  if (sizes.at("world_size") == groups.ranks()) return groups;
  return input_error("{}: world_size = {}, but pp_size x dp_size x tp_size x dsp_size = {}", file,
                     sizes.at("world_size"), groups.ranks() * size("dsp_size"));
}

}  // namespace ergometer::importer
