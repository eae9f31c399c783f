#include "study/charllm/points.h"

#include "base/check.h"
#include "spec/settings/settings.h"
#include "study/charllm/charllm.h"
#include "study/charllm/evidence.h"

namespace ergometer::study {

Result<std::vector<Point>> charllm_points() {
  ERGOMETER_ASSIGN(const std::vector<spec::MatrixRow> rows, spec::read_matrix("charllm-matrix"));
  charllm::Jobs jobs(rows);
  charllm::fault_jobs(jobs);
  charllm::counterfactual_jobs(jobs);
  charllm::other_machine_jobs(jobs);
  return jobs.take();
}

}  // namespace ergometer::study

namespace ergometer::study::charllm {
namespace {

void set(spec::Settings& settings, const Values& values) {
  for (const auto& [name, value] : values)
    settings.set(spec::find_setting(name)->name, value, spec::Origin{"the study", {}});
}

}  // namespace

void Jobs::varied(const std::string& family, const std::string& id, const std::string& of_family,
                  const std::string& of_id, const Values& more) {
  for (const spec::MatrixRow& row : rows_) {
    if (row.family != of_family || row.config_id != of_id || row.refusal) continue;
    Point point;
    point.id = id;
    point.family = family;
    point.settings = row.settings;
    set(point.settings, more);
    points_.push_back(std::move(point));
    return;
  }
  ERGOMETER_CHECK(false, "the matrix lacks a row that the study varies");
}

void Jobs::fresh(const std::string& family, const std::string& id, const Values& values) {
  Point point;
  point.id = id;
  point.family = family;
  set(point.settings, {{"software", "megatron-lm"}});  // as the rows of its matrix
  set(point.settings, values);
  points_.push_back(std::move(point));
}

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> kPairs = {
      {"gpt3", "GPT3-175B", "gpt3-175b_1_01000", "gpt3-175b_1_00000"},
      {"llama3", "Llama3-70B", "llama3-70b_2_00000", "llama3-70b_2_00000"},
      {"mixtral", "Mixtral-8x22B", "mixtral-8x22b_4_01000", "mixtral-8x22b_1_00000"}};
  return kPairs;
}

const std::vector<NicJob>& nic_jobs() {
  static const std::vector<NicJob> kJobs = {
      {"GPT3-175B TP8-FSDP", "microbatch-sweep-h200-fsdp", "gpt3-175b_5_mbs1"},
      {"GPT3-175B TP2-PP16", "optimization-sweep-h200", "gpt3-175b_1_01000"},
      {"Llama3-70B TP4-PP4", "optimization-sweep-h200", "llama3-70b_2_01000"},
      {"Mixtral-8x22B EP8-TP4-PP1", "optimization-sweep-h200", "mixtral-8x22b_3_01000"},
      {"Mixtral-8x22B EP8-TP1-PP4", "optimization-sweep-h200", "mixtral-8x22b_1_01000"}};
  return kJobs;
}

const std::vector<std::pair<std::string, std::string>>& mi250_layouts() {
  static const std::vector<std::pair<std::string, std::string>> kLayouts = {
      {"8", "4"}, {"8", "2"}, {"4", "4"}, {"4", "2"}, {"2", "4"}};
  return kLayouts;
}

}  // namespace ergometer::study::charllm
