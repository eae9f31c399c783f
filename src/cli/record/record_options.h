#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/console/command.h"
#include "record/clock_peer.h"
#include "record/push/otlp_exporter.h"
#include "record/push/pusher.h"
#include "record/sources.h"
#include "run/file/prediction.h"
#include "run/file/recording.h"
#include "watch/rule_file.h"

namespace ergometer::cli {

/// What the user asked of `ergometer record`.
struct RecordOptions {
  std::string out;  ///< empty: a name by host, time and job
  double hz = 10;
  record::SourceOptions sources;
  std::vector<std::string> wanted;  ///< sources that must be there; empty: whatever is there
  std::vector<int64_t> gpus;
  std::optional<pid_t> attach;
  std::optional<double> duration_s;
  std::vector<run::Recording::Fact> tags;
  std::string listen;  ///< ADDRESS:PORT for Prometheus; empty: nobody is served
  bool dcgm_names = false;
  record::PushOptions push;                      ///< to `ergometer serve`
  record::OtlpOptions otlp;                      ///< to an OTLP receiver
  std::optional<record::Endpoint> clock_listen;  ///< where others may ask for the time
  std::vector<record::Endpoint> clock_peers;     ///< whom to ask
  bool live = false, json = false, self_test = false;
  int64_t repeats = 5;
  std::optional<run::Prediction> prediction;  ///< that the job is held to
  std::optional<watch::RuleFile> rules;       ///< that it is held to
  std::string step_log;  ///< a training program's output to follow; empty: none
  std::string host;      ///< the node's name in the file
  std::vector<std::string> command;
};

/// Input errors name the option, what was found and what is allowed.
Result<RecordOptions> read_record_options(const Arguments& arguments);

}  // namespace ergometer::cli
