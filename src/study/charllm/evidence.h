#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/run.h"

namespace ergometer::study::charllm {

/// A point of the study as findings and figures look at it. One that the study lacks, or that could
/// not run, answers NaN to everything.
struct Seen {
  const run::StudyPoint* point = nullptr;
  int64_t index = -1;

  bool known() const { return point != nullptr; }
  /// By name of the summary table.
  double at(const std::string& name) const;
  double step_s() const { return at("performance.step_time_s"); }
  double tokens_per_s() const { return at("performance.tokens_per_s"); }
  double tokens_per_j() const { return at("power.tokens_per_j"); }
  /// The study's own measure, `efficiency` of its vistools.py: throughput over the GPUs' energy of
  /// the step, the inverse of an energy-delay product. Steps of unlike batches have no ratio of it.
  double efficiency() const { return tokens_per_s() / at("power.gpu_energy_j_per_step"); }
  double mean_w() const { return at("power.mean_w_per_gpu"); }
  double peak_w() const { return at("power.peak_w_per_gpu"); }
  double max_c() const { return at("thermal.max_gpu_c"); }
  double clock_mhz() const { return at("thermal.mean_clock_mhz"); }
  double lowest_mhz() const { return at("thermal.lowest_clock_mhz"); }
  double throttled() const { return at("thermal.throttled_time_fraction"); }
  bool fits() const { return known() && point->status == run::PointStatus::kOk; }
  /// Of a row of slots, 0 nearest the inlet.
  double row(size_t slot_row, double run::SlotRow::* value) const;
  /// Rear over front row, C.
  double row_gap() const {
    return row(1, &run::SlotRow::mean_gpu_c) - row(0, &run::SlotRow::mean_gpu_c);
  }
  /// What limits the clocks, a sentence.
  std::string limit() const;
  /// A setting as a number; `otherwise` when the job does not say it.
  int64_t setting(const char* name, int64_t otherwise = 1) const;
  int64_t stages() const { return setting("pipeline_model_parallel_size"); }
  /// "EP8-TP2-PP16", "TP8-FSDP".
  std::string layout() const;
};

/// Share of kernel time that is exposed communication.
double communication_share(const Seen& seen);

/// Names of points, family and id.
using Asked = std::set<std::pair<std::string, std::string>>;

/// The points that one finding or figure rests on; knows whether all that was asked for was there.
class Basis {
 public:
  /// `asked`: takes the names of all points that are asked for, there or not; may be null.
  explicit Basis(const run::Study& study, Asked* asked = nullptr) : study_(study), asked_(asked) {}
  /// A point that ran, whether it fits in memory or not.
  Seen operator()(std::string_view family, const std::string& id);
  /// The optimization sweep of a testbed, "h200" or "h100"; variant: first digit overlap, second
  /// full recomputation.
  Seen sweep(const std::string& gpu, const std::string& layout, const std::string& variant);
  bool complete() const { return complete_; }
  /// Each once, in the study's order: which of two arguments is asked for first, compilers decide.
  std::vector<int64_t> points() const { return {points_.begin(), points_.end()}; }

 private:
  const run::Study& study_;
  Asked* asked_;
  bool complete_ = true;
  std::set<int64_t> points_;
};

/// Layouts of the sweep that can run at all. `gpu`: "h200", "h100".
const std::vector<std::string>& layouts_of(const std::string& gpu);
/// "gpt3-175b" of "gpt3-175b_2".
std::string model_of(const std::string& layout);

double median(std::vector<double> values);
double least(const std::vector<double>& values);
double most(const std::vector<double>& values);
/// Comma-separated.
std::string text(const std::vector<double>& values, const char* format);
/// Change from one number to another, in %.
double change(double from, double to);

}  // namespace ergometer::study::charllm
