#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/record/record_options.h"
#include "record/recorder.h"
#include "record/snapshot.h"
#include "watch/actions.h"
#include "watch/against_prediction.h"
#include "watch/alerts.h"
#include "watch/findings_now.h"
#include "watch/snapshot_now.h"

namespace ergometer::cli {

/// What is recorded held to its prediction and to rules, once a second. What leaves its interval
/// and every alert that fires or is resolved becomes a note of the recording; actions are done on a
/// thread of their own.
class JobWatch {
 public:
  /// All are kept by reference; `options` says to what the job is held.
  JobWatch(const RecordOptions& options, record::Recorder& recorder,
           const record::Snapshot& snapshot);

  /// As often as one likes; looks once a second.
  void look();
  /// For under the live table: the prediction beside what is measured, and alerts that fire.
  std::string text() const;

 private:
  int64_t now_ns() const;
  void hold_to_prediction(watch::JobNow& now);
  void hold_to_rules(const watch::JobNow& now);

  const RecordOptions& options_;
  record::Recorder& recorder_;
  const run::ClockReading started_;
  watch::SnapshotNow snapshot_;
  watch::FindingsNow findings_;
  std::optional<watch::AgainstPrediction> against_;
  std::optional<watch::RuleFile> rules_;
  std::optional<watch::Alerts> alerts_;
  std::optional<watch::Actions> actions_;
  int64_t looked_ns_ = 0;
  bool told_ = false;
};

}  // namespace ergometer::cli
