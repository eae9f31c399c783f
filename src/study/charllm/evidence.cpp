#include "study/charllm/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/collection.h"
#include "base/text.h"
#include "run/study_values.h"

namespace ergometer::study::charllm {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

run::Thermal thermal_of(const Seen& seen) {
  return seen.known() ? run::summary_thermal(seen.point->summary_json) : run::Thermal();
}

}  // namespace

double Seen::at(const std::string& name) const {
  if (!known()) return kNone;
  const auto found = point->values.find(name);
  return found == point->values.end() ? kNone : found->second;
}

double Seen::row(size_t slot_row, double run::SlotRow::* value) const {
  const run::Thermal thermal = thermal_of(*this);
  return slot_row < thermal.rows.size() ? thermal.rows[slot_row].*value : kNone;
}

std::string Seen::limit() const { return thermal_of(*this).limit; }

int64_t Seen::setting(const char* name, int64_t otherwise) const {
  if (!known()) return otherwise;
  const auto found = point->settings.find(name);
  if (found == point->settings.end()) return otherwise;
  return base::parse_integer(found->second).value_or(otherwise);
}

std::string Seen::layout() const {
  const int64_t experts = setting("expert_model_parallel_size");
  std::string name = experts > 1 ? fmt::format("EP{}-", experts) : "";
  name += fmt::format("TP{}-", setting("tensor_model_parallel_size"));
  const bool sharded = known() && point->settings.contains("fsdp") &&
                       point->settings.at("fsdp") == "true" && stages() == 1;
  return name + (sharded ? std::string("FSDP") : fmt::format("PP{}", stages()));
}

double communication_share(const Seen& seen) {
  const auto part = [&](const char* name) {
    return seen.at(std::string("performance.breakdown_s.") + name);
  };
  const double waits = part("exposed_all_reduce") + part("exposed_all_gather") +
                       part("exposed_reduce_scatter") + part("exposed_all_to_all") +
                       part("exposed_send_recv");
  return waits / (waits + part("compute") + part("optimizer"));
}

Seen Basis::operator()(std::string_view family, const std::string& id) {
  if (asked_ != nullptr) asked_->emplace(family, id);
  for (size_t i = 0; i < study_.points.size(); ++i) {
    const run::StudyPoint& point = study_.points[i];
    if (point.family != family || point.id != id || point.values.empty()) continue;
    points_.insert(static_cast<int64_t>(i));
    return {&point, static_cast<int64_t>(i)};
  }
  complete_ = false;
  return {};
}

Seen Basis::sweep(const std::string& gpu, const std::string& layout, const std::string& variant) {
  return (*this)("optimization-sweep-" + gpu, layout + "_" + variant);
}

const std::vector<std::string>& layouts_of(const std::string& gpu) {
  static const std::vector<std::string> kH200Layouts = {
      "gpt3-175b_3",     "gpt3-175b_2",    "gpt3-175b_1",   "gpt3-175b_4",     "llama3-70b_1",
      "llama3-70b_2",    "llama3-70b_3",   "llama3-70b_4",  "mixtral-8x22b_3", "mixtral-8x22b_2",
      "mixtral-8x22b_1", "mixtral-8x7b_2", "mixtral-8x7b_1"};
  // llama3-70b_4 is left out: 32 stages do not divide 80 layers.
  static const std::vector<std::string> kH100Layouts = {
      "gpt3-175b_3",    "gpt3-175b_2",     "gpt3-175b_1",     "llama3-70b_1",    "llama3-70b_2",
      "llama3-70b_3",   "mixtral-8x22b_1", "mixtral-8x22b_2", "mixtral-8x22b_3", "mixtral-8x22b_4",
      "mixtral-8x7b_2", "mixtral-8x7b_3",  "mixtral-8x7b_1",  "mixtral-8x7b_4"};
  return gpu == "h200" ? kH200Layouts : kH100Layouts;
}

std::string model_of(const std::string& layout) { return layout.substr(0, layout.find('_')); }

double median(std::vector<double> values) {
  return values.empty() ? kNone : base::upper_median(std::move(values));
}

double least(const std::vector<double>& values) {
  return values.empty() ? kNone : *std::min_element(values.begin(), values.end());
}
double most(const std::vector<double>& values) {
  return values.empty() ? kNone : *std::max_element(values.begin(), values.end());
}

std::string text(const std::vector<double>& values, const char* format) {
  std::string result;
  for (const double value : values)
    result += (result.empty() ? "" : ", ") + fmt::format(fmt::runtime(format), value);
  return result;
}

double change(double from, double to) { return 100 * (to / from - 1); }

}  // namespace ergometer::study::charllm
