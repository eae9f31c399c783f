#include "page/differences.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/collection.h"

namespace ergometer::page {
namespace {

using Json = nlohmann::ordered_json;

struct Flat {
  std::vector<std::string> order;
  std::map<std::string, std::string> values;
};

/// Objects are walked into; arrays are values.
void flatten(const Json& json, const std::string& path, Flat& flat) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items())
      flatten(value, path.empty() ? name : path + "." + name, flat);
    return;
  }
  if (path.empty() || path.ends_with(".source") || path.ends_with(".unknown_keys")) return;
  flat.order.push_back(path);
  flat.values[path] = json.is_string() ? json.get<std::string>() : json.dump();
}

}  // namespace

std::vector<Difference> differences(const std::vector<std::string>& job_jsons) {
  std::vector<Flat> jobs;
  std::vector<std::string> order;
  for (const std::string& text : job_jsons) {
    Flat& job = jobs.emplace_back();
    flatten(Json::parse(text, nullptr, /*allow_exceptions=*/false), "", job);
    for (const std::string& path : job.order)
      if (!base::contains(order, path)) order.push_back(path);
  }
  std::vector<Difference> all;
  for (const std::string& path : order) {
    Difference difference{path, {}};
    for (const Flat& job : jobs) {
      const auto found = job.values.find(path);
      difference.values.push_back(found == job.values.end() ? "" : found->second);
    }
    const std::vector<std::string>& values = difference.values;
    if (std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end())
      all.push_back(std::move(difference));
  }
  return all;
}

void write_differences(base::JsonWriter& json, const std::vector<NamedRun>& runs) {
  const auto jobs = base::mapped(runs, [](const NamedRun& run) { return run.run.job_json; });
  json.rows("differences", differences(jobs), [&](const Difference& difference) {
    json.member("name", difference.name);
    json.list("values", difference.values);
  });
}

}  // namespace ergometer::page
