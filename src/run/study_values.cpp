#include "run/study_values.h"

#include <nlohmann/json.hpp>

#include "run/summary_fields.h"

namespace ergometer::run {
namespace {

using Json = nlohmann::json;
using Values = std::map<std::string, double>;

void add_members(const Json& object, const std::string& prefix, Values& values) {
  for (const auto& [name, member] : object.items()) {
    if (member.is_number()) values[prefix + name] = member.get<double>();
    if (member.is_boolean()) values[prefix + name] = member.get<bool>() ? 1 : 0;
    if (member.is_object()) add_members(member, prefix + name + '.', values);
  }
}

void add_links(const Json& links, Values& values) {
  if (!links.is_array()) return;
  for (const Json& link : links) {
    if (!link.is_object()) continue;
    const auto kind = link.find("kind");
    if (kind == link.end() || !kind->is_string()) continue;
    add_members(link, "links." + kind->get<std::string>() + '.', values);
  }
}

}  // namespace

std::map<std::string, double> study_values(const std::string& summary_json) {
  Values values;
  const Json summary = Json::parse(summary_json, nullptr, false);
  if (!summary.is_object()) return values;
  for (const char* group : {"performance", "memory", "power", "thermal", "cluster_power"})
    if (const auto found = summary.find(group); found != summary.end() && found->is_object())
      add_members(*found, std::string(group) + '.', values);
  if (const auto links = summary.find("links"); links != summary.end()) add_links(*links, values);
  return values;
}

bool is_study_value(std::string_view name) {
  for (const std::string_view group :
       {"links.", "power.gpu_parts_w.", "power.node_parts_w.", "thermal.event_shares."})
    if (name.starts_with(group)) return true;
  return find_summary_field(name) != nullptr;
}

Thermal summary_thermal(const std::string& summary_json) {
  Thermal result;
  const Json summary = Json::parse(summary_json, nullptr, false);
  if (!summary.is_object() || !summary.contains("thermal")) return result;
  const Json& thermal = summary["thermal"];
  if (!thermal.is_object()) return result;
  if (const auto limit = thermal.find("limit"); limit != thermal.end() && limit->is_string())
    result.limit = limit->get<std::string>();
  const auto rows = thermal.find("rows");
  if (rows == thermal.end() || !rows->is_array()) return result;
  for (const Json& row : *rows) {
    if (!row.is_object()) continue;
    Values values;
    add_members(row, "", values);
    result.rows.push_back({static_cast<int64_t>(values["row"]), values["mean_gpu_c"],
                           values["max_gpu_c"], values["mean_clock_mhz"]});
  }
  return result;
}

}  // namespace ergometer::run
