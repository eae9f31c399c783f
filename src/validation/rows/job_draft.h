#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/settings/settings.h"
#include "validation/rows/names.h"
#include "validation/rows/run_job.h"

namespace ergometer::validation {

/// A row on its way to a job: what is settled so far, and who settled it. The first who settles a
/// setting has the last word, so the row comes first and the vaguest rule last.
class JobDraft {
 public:
  explicit JobDraft(const MeasuredRun& row);

  const MeasuredRun& run;
  const ModelName name;  ///< of the row's model
  std::string_view cell(std::string_view column) const { return run.cell(column); }
  bool source_has(std::string_view part) const { return contains(cell("source"), part); }

  /// What the row says, in a column of numbers or in words.
  void take(std::string_view setting, std::string_view column);
  void say(std::string_view setting, const std::string& value, std::string_view column);
  /// What the row leaves blank. Settings that the program does not have, and words that a setting
  /// does not know, are left out.
  void fill(std::string_view setting, const std::string& value, std::string_view reason);
  /// Sets against what was said, where the row contradicts itself.
  void correct(std::string_view setting, std::string value, std::string_view reason);
  /// Takes a setting back that does not fit the others.
  void drop(std::string_view setting);

  bool has(std::string_view setting) const { return settings_.find(setting) != nullptr; }
  /// A whole number that is settled, else the fallback.
  int64_t number(std::string_view setting, int64_t fallback) const;
  std::string_view text(std::string_view setting) const;
  bool is_on(std::string_view setting) const { return text(setting) == "true"; }
  /// The whole number in a column; nothing if it is blank. Anything else is refused.
  std::optional<int64_t> whole(std::string_view column);

  void refuse(std::string message);
  const std::optional<base::Error>& error() const { return error_; }
  const spec::Settings& settings() const { return settings_; }
  std::vector<Fill>& fills() { return fills_; }

 private:
  spec::Settings settings_;
  std::vector<Fill> fills_;
  std::optional<base::Error> error_;
};

/// The catalog's node with the row's GPU, with the network between nodes where the row tells it:
/// what `--cluster` takes. Nothing where no node has such GPUs.
std::optional<std::string> node_and_network(const MeasuredRun& row);

/// The steps of `make_job`, in this order.
void take_model(JobDraft& draft);
void take_cluster(JobDraft& draft);
void take_sizes(JobDraft& draft);
void take_words(JobDraft& draft);
void take_notes(JobDraft& draft);
void take_software(JobDraft& draft);
/// Bus bandwidth, B/s, of an all-gather or a reduce-scatter over all ranks, the greater one, that
/// the row's notes tell ("measured comm in same job: AllReduce 158.65, AllGather 100.2,
/// ReduceScatter 98.8 GB/s"); 0 without. Either sends the same; something may disturb one of them.
double measured_gather(const JobDraft& draft);
void fill_sizes(JobDraft& draft);

}  // namespace ergometer::validation
