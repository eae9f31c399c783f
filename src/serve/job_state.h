#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/device_log.h"
#include "serve/job_run.h"
#include "serve/push_format.h"
#include "watch/findings_now.h"
#include "watch/job_now.h"

namespace ergometer::serve {

/// What is known now of one device.
struct DeviceState {
  static constexpr size_t kMetrics = static_cast<size_t>(run::Metric::kCount);

  run::DeviceKind kind = run::DeviceKind::kGpu;
  int64_t index = -1;
  std::string name, uuid;
  std::array<double, kMetrics> values{};
  std::array<int64_t, kMetrics> times_ns{};  ///< 0: never read
  double sent_rate = 0, received_rate = 0;   ///< of a port, bytes a second
  int64_t heard_ns = 0;                      ///< by the server's clock; 0: never, or too long ago

  bool has(run::Metric metric) const { return times_ns[static_cast<size_t>(metric)] != 0; }
  double of(run::Metric metric) const { return values[static_cast<size_t>(metric)]; }
  watch::DeviceNow now(std::string_view node) const {
    return {kind, node, name, uuid, index, values, times_ns};
  }
  /// -1: none is read.
  double power_w() const { return now({}).power_w().value_or(-1); }
  /// Of what has no sensor at its edge (MI300X) the hottest place's.
  run::Metric temperature_metric() const {
    return has(run::Metric::kGpuTemperature) ? run::Metric::kGpuTemperature
                                             : run::Metric::kHotspotTemperature;
  }
  void set(run::Metric metric, const run::Sample& sample);
  void forget();
};

/// What is known now of one node.
struct NodeState {
  enum class Presence : uint8_t { kLive, kSilent, kEnded };

  std::string name, recorder;
  std::vector<size_t> devices;  ///< that lie in it, by the numbers of the job's Run
  int64_t heard_ns = 0;         ///< by the server's clock
  int64_t lost = 0;             ///< batches that never came, since a new recorder began
  bool ended = false;
  run::TrainingStep step;  ///< the latest that its log told of
  int64_t step_ns = 0;     ///< when it was heard; 0: never
  double jump_s = 0;       ///< what its clock last was set by, forward or back
  int64_t jumped_ns = 0;   ///< when; 0: never
  Presence presence(int64_t now_ns) const;
};

/// One job as it is now, kept up by what recorders push. It outlives no restart: then nodes are
/// known by the Run, and silent until they push again.
class JobState {
 public:
  static constexpr int64_t kSilentAfterNs = 5'000'000'000;
  static constexpr size_t kMostSteps = 4096;  ///< that wait for a look

  explicit JobState(const JobRun& run);

  /// `numbers`: of the push's devices in the job's Run.
  void hear(const Push& push, const std::vector<size_t>& numbers, int64_t now_ns);
  /// The latest readings of all nodes that are live, the steps that ended since the last call, and
  /// what is to be looked at, since when. Valid until something is heard.
  watch::JobNow look(int64_t now_ns);
  HistoryRow total(int64_t now_ns) const;  ///< of the nodes that are live

  /// The node that told of the job's latest step, while that is news (record::is_news); or null.
  const NodeState* stepping(int64_t now_ns) const;
  const std::vector<NodeState>& nodes() const { return nodes_; }
  const std::vector<DeviceState>& devices() const { return devices_; }
  int64_t heard_ns() const { return heard_ns_; }
  bool live(int64_t now_ns) const;  ///< some node is
  int64_t gpus() const;

 private:
  NodeState& node(const std::string& name);
  /// `told`: the numbers that the same push tells of; none of them was exchanged.
  void place(size_t number, const run::Device& device, std::span<const size_t> told,
             int64_t now_ns);
  void add_step(const run::TrainingStep& step);
  void find(watch::JobNow& now);
  void forget_silent_devices(int64_t now_ns);
  void look_at_clock(NodeState& node, run::ClockReading& before, const run::ClockReading& clock,
                     int64_t now_ns);

  /// What is known of a recorder by its last batch.
  struct Recorder {
    int64_t sequence = 0;
    int64_t step = -1;
    run::ClockReading clock;
  };

  std::vector<NodeState> nodes_;
  std::map<std::string, size_t> node_numbers_;
  std::map<std::pair<std::string, std::string>, Recorder> recorders_;  ///< by host and name
  std::vector<DeviceState> devices_;
  std::vector<run::TrainingStep> new_steps_;
  int64_t last_step_ = -1;
  int64_t heard_ns_ = 0;
  watch::FindingsNow findings_;
  std::map<std::string, int64_t> since_;  ///< by a finding's kind
};

}  // namespace ergometer::serve
