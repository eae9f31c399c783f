#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "record/clock_peer.h"
#include "record/deadlines.h"
#include "record/inbox.h"
#include "record/snapshot.h"
#include "record/source.h"
#include "record/step_log.h"
#include "record/stop_flag.h"
#include "run/file/recording.h"

namespace ergometer::record {

struct RecorderOptions {
  double hz = 10;             ///< readings a second; slow sources have a pace of their own, 1 Hz
  std::string host;           ///< for devices whose source does not say
  std::vector<int64_t> gpus;  ///< only those of these indices; empty: all
};

/// The calls that one source made so far.
struct SourceCosts {
  std::string source;
  std::vector<CallCost> calls;
};

/// How far a recording is.
struct RecorderProgress {
  int64_t ticks = 0, missed = 0;
  std::vector<SourceCosts> costs;  ///< as of a second ago
};

/// What a recording was, and what it cost.
struct RecorderReport {
  int64_t start_ns = 0, end_ns = 0;
  int64_t ticks = 0, missed = 0;       ///< rounds over the sources, and those left out for lateness
  int64_t readings = 0, repeated = 0;  ///< stored; not, for the sensor had nothing new
  int64_t lost = 0;                    ///< not stored, for a write took too long
  int64_t cpu_ns = 0;                  ///< of the threads, beyond the sources' calls
  int64_t source_cpu_ns = 0;           ///< within them
  std::vector<SourceCosts> costs;
  std::vector<std::string> notes;
  std::string problem;  ///< why the file does not hold all of it; empty: it does
};

/// Reads sources at a steady pace into a Recording.
///
/// One thread reads all sources in turn; each slow one has a thread of its own. Another thread
/// commits twice a second, so that a disk that takes its time keeps nobody from reading.
class Recorder {
 public:
  using Say = std::function<void(const std::string&)>;

  /// `say` is called with what the user should know at once, from one thread.
  Recorder(std::vector<std::unique_ptr<Source>> sources, run::Recording recording,
           Snapshot& snapshot, RecorderOptions options, Say say);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();  ///< stops

  /// Before `start`: asks this host for its time once a second.
  void ask_for_time(ClockClient peer) { peers_.push_back(std::move(peer)); }
  /// Before `start`: keeps the steps that a training log tells of from now on.
  void follow(StepLog log);
  /// Reads once, and goes on in the background.
  void start();
  /// Every source came to its end.
  bool finished() const { return finished_; }
  /// From any thread.
  RecorderProgress progress() const;
  /// Reads once more, writes everything and closes the file.
  RecorderReport stop();

 private:
  /// A source, and where its devices stand in the Recording.
  struct Input {
    std::unique_ptr<Source> source;
    std::vector<int64_t> numbers;  ///< by the source's device; -1: not recorded
    std::vector<int64_t> latest;   ///< time of the last reading by device and metric
    Batch batch;
    SourceCosts costs;          ///< guarded by `costs_mutex_`
    int64_t costs_time_ns = 0;  ///< when they were last looked at
  };

  void add_devices(Input& input);
  void read(Input& input);
  void deliver(Input& input);
  void look_at_costs(Input& input);
  void read_in_turn(Deadlines deadlines);
  bool all_finished() const;
  void read_slow(Input& input);
  void ask(ClockClient& peer);
  void follow_log();
  void take_steps(std::vector<run::TrainingStep>& steps);
  void write(Deadlines deadlines);
  void drain();
  void commit();
  void note(const std::string& text);
  void finish();
  template <class Work>
  void if_memory_lasts(const Work& work);

  run::Recording recording_;
  Snapshot& snapshot_;
  RecorderOptions options_;
  Say say_;
  std::vector<Input> inputs_, slow_;
  std::vector<ClockClient> peers_;
  std::optional<StepLog> step_log_;
  Inbox inbox_;
  Inbox::Content taken_;
  RecorderReport report_;
  mutable std::mutex costs_mutex_;
  StopFlag stop_reading_, stop_writing_;
  std::vector<std::thread> readers_;
  std::thread writer_;
  int64_t told_out_of_memory_ = 0;  ///< of those times
  bool started_ = false, failing_ = false;
  std::atomic<bool> finished_ = false;
  std::atomic<int64_t> ticks_ = 0, missed_ = 0, repeated_ = 0, cpu_ns_ = 0, source_cpu_ns_ = 0;
  std::atomic<int64_t> out_of_memory_ = 0;  ///< times that work was left out
};

}  // namespace ergometer::record
