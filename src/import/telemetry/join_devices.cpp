#include "import/telemetry/join_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "import/telemetry/readers.h"

namespace ergometer::importer {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t start_ns(const run::Device& device) {
  int64_t start = kNever;
  for (const run::Series& series : device.series)
    if (!series.samples.empty()) start = std::min(start, series.samples.front().time_ns);
  return start;
}

int64_t end_ns(const run::Device& device) {
  int64_t end = 0;
  for (const run::Series& series : device.series)
    if (!series.samples.empty()) end = std::max(end, series.samples.back().time_ns);
  return end;
}

/// What GPUs that may be one have in common; empty: it is one by itself.
std::string device_key(const run::Device& d) {
  if (d.kind != run::DeviceKind::kGpu || d.series.empty()) return "";
  if (!d.uuid.empty()) return d.uuid;
  if (d.host.empty() || d.host != d.file || d.index < 0) return "";
  std::string stem(stem_of(d.file));
  std::erase_if(stem, [](char c) { return c >= '0' && c <= '9'; });
  return fmt::format("{}/{}\n{}\n{}", folder_of(d.file), stem, d.index, d.name);
}

run::Series& series_of(run::Device& device, const run::Series& like) {
  const auto found = std::ranges::find(device.series, like.metric, &run::Series::metric);
  if (found != device.series.end()) return *found;
  device.series.push_back({like.metric, like.partial, {}, like.links});
  return device.series.back();
}

/// Adds what `more` says behind the end of `device`.
void append(run::Device& device, run::Device& more) {
  for (run::Series& series : more.series) {
    std::vector<run::Sample>& to = series_of(device, series).samples;
    const int64_t end = to.empty() ? -1 : to.back().time_ns;
    std::ranges::copy_if(series.samples, std::back_inserter(to),
                         [&](const run::Sample& sample) { return sample.time_ns > end; });
  }
  std::ranges::move(more.windows, std::back_inserter(device.windows));
  if (device.name.empty()) device.name = more.name;
  more.series.clear();
}

/// "a.csv and b.csv both hold ...": once for all GPUs of two files.
std::string overlap_note(const run::Device& a, const run::Device& b, int64_t ns) {
  constexpr double kSecond = 1e-9;
  return fmt::format(
      "{} and {} both hold readings of the same GPUs, for {}: those of the one that "
      "began first count",
      a.file, b.file, base::format_seconds(static_cast<double>(ns) * kSecond));
}

/// GPUs that may be one, in order of their first readings.
void join(std::vector<run::Device*> same,
          std::map<std::pair<std::string, std::string>, std::string>& notes) {
  std::ranges::stable_sort(same, {}, [](const run::Device* d) { return start_ns(*d); });
  run::Device* into = same.front();
  for (run::Device* more : std::span(same).subspan(1)) {
    const int64_t over_ns = end_ns(*into) - start_ns(*more);
    const bool known = !more->uuid.empty();
    if (over_ns >= 0 && !known) {
      into = more;
      continue;
    }
    const auto files = std::make_pair(into->file, more->file);
    if (over_ns > 0)
      notes.emplace(files,
                    overlap_note(*into, *more, std::min(over_ns, end_ns(*more) - start_ns(*more))));
    else if (!known)
      notes.emplace(files, fmt::format("{} begins where {} ends and names no host: taken as the "
                                       "same GPUs",
                                       more->file, into->file));
    append(*into, *more);
  }
}

}  // namespace

std::vector<std::string> join_gpus(std::vector<run::Device>& devices) {
  std::map<std::string, std::vector<run::Device*>> same;
  for (run::Device& device : devices)
    if (std::string key = device_key(device); !key.empty()) same[std::move(key)].push_back(&device);
  std::map<std::pair<std::string, std::string>, std::string> notes;
  std::set<const run::Device*> candidates;
  for (auto& [key, gpus] : same) {
    if (gpus.size() < 2) continue;
    candidates.insert(gpus.begin(), gpus.end());
    join(gpus, notes);
  }
  // What was joined to another has no series left.
  std::vector<run::Device> kept;
  for (run::Device& device : devices)
    if (!candidates.contains(&device) || !device.series.empty()) kept.push_back(std::move(device));
  devices = std::move(kept);
  return base::values_of(std::move(notes));
}

}  // namespace ergometer::importer
