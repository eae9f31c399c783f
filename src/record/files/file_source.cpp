#include "record/files/file_source.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/collection.h"
#include "record/files/call_timer.h"

namespace ergometer::record {
namespace {

constexpr int64_t kRetryNs = 10'000'000'000;

/// A sensor with its open files.
class OpenSensor {
 public:
  OpenSensor(FileSensor what, size_t cost) : what_(std::move(what)), cost_(cost) {
    for (const FileSensor::File& file : what_.files) files_.emplace_back(file.path);
  }
  const FileSensor& what() const { return what_; }
  /// Of a device that got another number; the next look comes at once.
  void begin(size_t device) {
    what_.device = device;
    next_ns_ = 0;
  }
  size_t cost() const { return cost_; }
  bool due(int64_t now) const { return now >= next_ns_; }

  /// The reading, or nothing; `problem` says why.
  std::optional<double> read(int64_t now);
  const std::string& problem() const { return problem_; }
  bool failing() const { return !problem_.empty(); }
  bool denied() const { return denied_; }

 private:
  std::optional<double> fail(const KeptFile& file, const std::string& why);

  FileSensor what_;
  size_t cost_;
  std::vector<KeptFile> files_;
  int64_t next_ns_ = 0;
  double last_ = 0, wrapped_ = 0;
  std::string problem_;
  bool denied_ = false;
};

std::optional<double> OpenSensor::fail(const KeptFile& file, const std::string& why) {
  problem_ = fmt::format("{}: {}", file.path(), why);
  return std::nullopt;
}

std::optional<double> OpenSensor::read(int64_t now) {
  next_ns_ = now + kRetryNs;
  double sum = 0, number = 0;
  for (size_t i = 0; i < files_.size(); ++i) {
    const auto text = files_[i].read();
    if (!text) {
      denied_ = files_[i].error_number() == EACCES || files_[i].error_number() == EPERM;
      return fail(files_[i], ::strerror(files_[i].error_number()));
    }
    const auto found = leading_number(*text);
    if (!found) return fail(files_[i], "holds no number");
    number = *found;
    sum += number * what_.files[i].scale;
  }
  if (what_.wraps_at > 0) {
    if (number < last_) wrapped_ += what_.wraps_at;
    last_ = number;
    sum += wrapped_ * what_.files.front().scale;
  }
  if (what_.mean) sum /= static_cast<double>(files_.size());
  const run::MetricInfo& info = run::metric_info(what_.metric);
  if (sum < info.lowest || sum > info.highest)
    return fail(files_.front(), fmt::format("{} {} is no {}", sum, info.unit, info.name));
  next_ns_ = now + what_.interval_ns;
  problem_.clear();
  return sum;
}

class FileSource : public Source {
 public:
  explicit FileSource(FileSourceKind kind) : kind_(std::move(kind)) {}
  std::string_view name() const override { return kind_.name; }
  std::span<const run::Device> devices() const override { return devices_; }
  std::span<const run::Metric> metrics() const override { return metrics_; }
  bool slow() const override { return kind_.slow; }
  void read(Batch& batch) override;
  std::vector<CallCost> costs() const override { return costs_; }

  /// Takes the sensors that answer and the devices that have one.
  Result<void> take(FoundSensors found, const SourceOptions& options);

 private:
  void add(FileSensor sensor);
  std::optional<double> look(OpenSensor& sensor, int64_t now);
  void drop_silent_devices(std::vector<run::Device> devices);
  void note_changes(Batch& batch);

  FileSourceKind kind_;
  std::vector<run::Device> devices_;
  std::vector<run::Metric> metrics_;
  std::vector<OpenSensor> sensors_;
  std::vector<CallCost> costs_;  ///< by metric
  std::vector<bool> troubled_;   ///< by device: the user knows that it does not answer
};

void FileSource::add(FileSensor sensor) {
  const std::string call = fmt::format("read {}", run::metric_info(sensor.metric).name);
  const auto known = std::ranges::find(costs_, call, &CallCost::call);
  const auto cost = static_cast<size_t>(known - costs_.begin());
  if (known == costs_.end()) costs_.push_back({.call = call});
  sensors_.emplace_back(std::move(sensor), cost);
}

std::optional<double> FileSource::look(OpenSensor& sensor, int64_t now) {
  CallTimer timer(costs_[sensor.cost()]);
  const auto value = sensor.read(now);
  if (!value) timer.failed();
  return value;
}

Result<void> FileSource::take(FoundSensors found, const SourceOptions& options) {
  const bool any = !found.sensors.empty();
  for (FileSensor& sensor : found.sensors)
    if (options.wants(sensor.metric)) add(std::move(sensor));
  if (sensors_.empty())
    return missing_error(any ? "gives none of the metrics asked for" : kind_.none);
  std::string problem;
  std::erase_if(sensors_, [&](OpenSensor& sensor) {
    if (look(sensor, now_ns())) return false;
    problem = sensor.problem();
    if (sensor.denied() && !kind_.denied.empty()) problem += "; " + kind_.denied;
    return true;
  });
  if (sensors_.empty()) return missing_error(problem);
  drop_silent_devices(std::move(found.devices));
  return {};
}

void FileSource::drop_silent_devices(std::vector<run::Device> devices) {
  std::vector<size_t> place(devices.size(), devices.size());
  for (OpenSensor& sensor : sensors_) {
    size_t& at = place[sensor.what().device];
    if (at == devices.size()) {
      at = devices_.size();
      devices_.push_back(devices[sensor.what().device]);
    }
    sensor.begin(at);
    const run::Metric metric = sensor.what().metric;
    if (!base::contains(metrics_, metric)) metrics_.push_back(metric);
  }
  troubled_.assign(devices_.size(), false);
}

void FileSource::read(Batch& batch) {
  for (OpenSensor& sensor : sensors_) {
    const int64_t now = now_ns();
    if (!sensor.due(now)) continue;
    if (const auto value = look(sensor, now))
      batch.add(sensor.what().device, sensor.what().metric, now, *value);
  }
  note_changes(batch);
}

/// Says once that a device has a sensor that does not answer, and once that all do again.
void FileSource::note_changes(Batch& batch) {
  for (size_t device = 0; device < devices_.size(); ++device) {
    const auto failing = std::ranges::find_if(sensors_, [&](const OpenSensor& sensor) {
      return sensor.what().device == device && sensor.failing();
    });
    const bool trouble = failing != sensors_.end();
    if (trouble == troubled_[device]) continue;
    troubled_[device] = trouble;
    batch.notes.push_back(
        trouble ? fmt::format("{}: {} no longer answers: {}; tried again every {} s", kind_.name,
                              devices_[device].name, failing->problem(), kRetryNs / 1'000'000'000)
                : fmt::format("{}: {} answers again", kind_.name, devices_[device].name));
  }
}

}  // namespace

Opened open_files(FileSourceKind kind, FoundSensors found, const SourceOptions& options) {
  auto source = std::make_unique<FileSource>(std::move(kind));
  ERGOMETER_TRY(source->take(std::move(found), options));
  return source;
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return names;
}

}  // namespace ergometer::record
