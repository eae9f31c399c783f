#include "record/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/collection.h"
#include "record/clock.h"
#include "record/usage.h"

namespace ergometer::record {
namespace {

constexpr double kSlowPeriod_s = 1, kCommitPeriod_s = 0.5;
constexpr const char* kOutOfMemory = "out of memory";  // so short that telling it needs none
constexpr size_t kMetricCount = static_cast<size_t>(run::Metric::kCount);

/// Adds the calling thread's processor time to a sum at its end.
class CpuMeter {
 public:
  explicit CpuMeter(std::atomic<int64_t>& sum) : sum_(sum) {}
  ~CpuMeter() { sum_ += thread_cpu_ns() - start_; }

 private:
  std::atomic<int64_t>& sum_;
  int64_t start_ = thread_cpu_ns();
};

}  // namespace

Recorder::Recorder(std::vector<std::unique_ptr<Source>> sources, run::Recording recording,
                   Snapshot& snapshot, RecorderOptions options, Say say)
    : recording_(std::move(recording)),
      snapshot_(snapshot),
      options_(std::move(options)),
      say_(std::move(say)) {
  for (std::unique_ptr<Source>& source : sources) {
    std::vector<Input>& inputs = source->slow() ? slow_ : inputs_;
    inputs.emplace_back();
    inputs.back().source = std::move(source);
    add_devices(inputs.back());
  }
}

Recorder::~Recorder() {
  if (started_) (void)stop();
}

void Recorder::add_devices(Input& input) {
  for (run::Device device : input.source->devices()) {
    if (device.host.empty()) device.host = options_.host;
    const bool chosen = options_.gpus.empty() || device.kind != run::DeviceKind::kGpu ||
                        base::contains(options_.gpus, device.index);
    if (chosen) {
      snapshot_.add_device(device);
      input.numbers.push_back(static_cast<int64_t>(recording_.add_device(device)));
    } else {
      input.numbers.push_back(-1);
    }
  }
  input.costs.source = input.source->name();
  input.latest.assign(input.numbers.size() * kMetricCount, INT64_MIN);
}

/// A machine may be short of memory for a moment, and the job that is recorded goes on: readings
/// are lost, the recorder is not.
template <class Work>
void Recorder::if_memory_lasts(const Work& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    ++out_of_memory_;
  }
}

void Recorder::read(Input& input) {
  input.batch.clear();
  const int64_t before = thread_cpu_ns();
  input.source->read(input.batch);
  source_cpu_ns_ += thread_cpu_ns() - before;
  deliver(input);
  if (now_ns() - input.costs_time_ns > kNsPerSecond) look_at_costs(input);
}

void Recorder::look_at_costs(Input& input) {
  std::vector<CallCost> calls = input.source->costs();
  input.costs_time_ns = now_ns();
  const std::lock_guard lock(costs_mutex_);
  input.costs.calls = std::move(calls);
}

RecorderProgress Recorder::progress() const {
  RecorderProgress progress{ticks_, missed_, {}};
  const std::lock_guard lock(costs_mutex_);
  for (const std::vector<Input>* inputs : {&inputs_, &slow_})
    for (const Input& input : *inputs) progress.costs.push_back(input.costs);
  return progress;
}

void Recorder::follow(StepLog log) {
  recording_.set_step_log(log.path());
  step_log_.emplace(std::move(log));
}

/// Leaves in the batch what is new, under the Recording's numbers, and hands it on.
void Recorder::deliver(Input& input) {
  std::vector<Reading>& readings = input.batch.readings;
  int64_t repeated = 0;
  std::erase_if(readings, [&](Reading& reading) {
    const int64_t number = input.numbers[reading.device];
    if (number < 0) return true;
    int64_t& latest =
        input.latest[reading.device * kMetricCount + static_cast<size_t>(reading.metric)];
    if (latest == reading.sample.time_ns) {
      ++repeated;
      return true;
    }
    latest = reading.sample.time_ns;
    reading.device = static_cast<size_t>(number);
    snapshot_.set(reading.device, reading.metric, reading.sample);
    return false;
  });
  repeated_ += repeated;
  inbox_.put(readings, input.batch.notes);
}

void Recorder::read_in_turn(Deadlines deadlines) {
  const CpuMeter meter(cpu_ns_);
  while (!stop_reading_.wait_until(deadlines.next())) {
    for (Input& input : inputs_) if_memory_lasts([&] { read(input); });
    ++ticks_;
    missed_ += deadlines.advance(Deadlines::Clock::now());
    finished_ = all_finished();
  }
  for (Input& input : inputs_) if_memory_lasts([&] { read(input); });
}

bool Recorder::all_finished() const {
  return !inputs_.empty() && slow_.empty() &&
         std::ranges::all_of(inputs_, [](const Input& input) { return input.source->finished(); });
}

void Recorder::read_slow(Input& input) {
  const CpuMeter meter(cpu_ns_);
  Deadlines deadlines(Deadlines::Clock::now(), kSlowPeriod_s);
  while (!stop_reading_.wait_until(deadlines.next())) {
    if_memory_lasts([&] { read(input); });
    deadlines.advance(Deadlines::Clock::now());
  }
}

/// A burst a second: the quickest answer of several is the one that waited nowhere.
void Recorder::ask(ClockClient& peer) {
  constexpr int kQuestions = 4;
  constexpr std::chrono::milliseconds kPatience(200);
  const CpuMeter meter(cpu_ns_);
  Deadlines deadlines(Deadlines::Clock::now(), 1);
  while (!stop_reading_.wait_until(deadlines.next())) {
    if_memory_lasts([&] {
      for (int i = 0; i < kQuestions; ++i)
        if (auto probe = peer.ask(kPatience)) inbox_.put(*std::move(probe));
    });
    deadlines.advance(Deadlines::Clock::now());
  }
}

void Recorder::follow_log() {
  constexpr double kPeriod_s = 0.2;
  const CpuMeter meter(cpu_ns_);
  std::vector<run::TrainingStep> steps;
  Deadlines deadlines(Deadlines::Clock::now(), kPeriod_s);
  while (!stop_reading_.wait_until(deadlines.next())) {
    if_memory_lasts([&] { take_steps(steps); });
    deadlines.advance(Deadlines::Clock::now());
  }
  if_memory_lasts([&] {
    take_steps(steps);
    if (snapshot_.steps_since(0).count == 0)
      inbox_.put({}, {step_log_->path() + ": no line in it told of a training step"});
  });
}

void Recorder::take_steps(std::vector<run::TrainingStep>& steps) {
  steps.clear();
  step_log_->read(steps);
  for (const run::TrainingStep& step : steps) snapshot_.add_step(step);
  inbox_.put(steps);
}

void Recorder::write(Deadlines deadlines) {
  const CpuMeter meter(cpu_ns_);
  int64_t clock_ns = 0;
  while (!stop_writing_.wait_until(deadlines.next())) {
    const run::ClockReading clock = read_clocks();
    if_memory_lasts([&] {
      if (clock.monotonic_ns - clock_ns > kNsPerSecond * 3 / 4) {
        clock_ns = clock.monotonic_ns;
        recording_.add(clock);
      }
      drain();
      commit();
    });
    deadlines.advance(Deadlines::Clock::now());
  }
}

void Recorder::drain() {
  inbox_.take(taken_);
  for (const Reading& reading : taken_.readings)
    recording_.add(reading.device, reading.metric, reading.sample);
  for (const run::ClockProbe& probe : taken_.probes) recording_.add(probe);
  for (const run::TrainingStep& step : taken_.steps) recording_.add(step);
  report_.readings += static_cast<int64_t>(taken_.readings.size());
  for (const std::string& text : taken_.notes) note(text);
  report_.lost += taken_.lost;
  if (taken_.lost > 0)
    note(fmt::format("{} readings are lost: a write took too long", taken_.lost));
  if (const int64_t times = out_of_memory_; times > told_out_of_memory_) {
    note("readings are lost: out of memory");
    told_out_of_memory_ = times;
  }
}

void Recorder::note(const std::string& text) {
  recording_.note(now_ns(), text);
  report_.notes.push_back(text);
  say_(text);
}

void Recorder::commit() {
  const auto written = recording_.commit();
  if (!written && !failing_) note(written.error().message);
  if (written && failing_) note("the file is written again");
  failing_ = !written;
}

void Recorder::start() {
  const CpuMeter meter(cpu_ns_);
  started_ = true;
  report_.start_ns = now_ns();
  const auto start = Deadlines::Clock::now();
  for (Input& input : inputs_) read(input);
  drain();
  commit();
  ++ticks_;
  Deadlines reading(start, 1 / options_.hz);
  missed_ += reading.advance(Deadlines::Clock::now());
  readers_.emplace_back(&Recorder::read_in_turn, this, reading);
  for (Input& input : slow_) readers_.emplace_back(&Recorder::read_slow, this, std::ref(input));
  for (ClockClient& peer : peers_) readers_.emplace_back(&Recorder::ask, this, std::ref(peer));
  if (step_log_) readers_.emplace_back(&Recorder::follow_log, this);
  writer_ = std::thread(&Recorder::write, this, Deadlines(start, kCommitPeriod_s));
}

RecorderReport Recorder::stop() {
  started_ = false;
  stop_reading_.set();
  for (std::thread& reader : readers_) reader.join();
  stop_writing_.set();
  if (writer_.joinable()) writer_.join();
  if_memory_lasts([&] { finish(); });
  if (out_of_memory_ > 0 && report_.problem.empty()) report_.problem = kOutOfMemory;
  return std::move(report_);
}

/// Behind the threads' end.
void Recorder::finish() {
  const int64_t before = thread_cpu_ns();
  recording_.add(read_clocks());
  drain();
  report_.end_ns = now_ns();
  for (std::vector<Input>* inputs : {&inputs_, &slow_})
    for (Input& input : *inputs) look_at_costs(input);
  RecorderProgress last = progress();
  report_.ticks = last.ticks;
  report_.missed = last.missed;
  report_.costs = std::move(last.costs);
  recording_.set({"ended_ns", fmt::format("{}", report_.end_ns)});
  recording_.set({"ticks", fmt::format("{}", report_.ticks)});
  recording_.set({"missed_ticks", fmt::format("{}", report_.missed)});
  if (const auto finished = recording_.finish(); !finished)
    report_.problem = finished.error().message;
  report_.repeated = repeated_;
  report_.source_cpu_ns = source_cpu_ns_;
  report_.cpu_ns = cpu_ns_ - source_cpu_ns_ + (thread_cpu_ns() - before);
}

}  // namespace ergometer::record
