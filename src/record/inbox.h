#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "record/source.h"
#include "run/host_clock.h"

namespace ergometer::record {

/// What the reading threads hand to the one that writes. It does not grow beyond bounds while a
/// write takes long: then the latest readings are counted and left out.
class Inbox {
 public:
  struct Content {
    std::vector<Reading> readings;  ///< devices as the Recording numbers them
    std::vector<run::ClockProbe> probes;
    std::vector<run::TrainingStep> steps;
    std::vector<std::string> notes;
    int64_t lost = 0;

    void clear() {
      readings.clear();
      probes.clear();
      steps.clear();
      notes.clear();
      lost = 0;
    }
  };

  void put(const std::vector<Reading>& readings, const std::vector<std::string>& notes) {
    const std::lock_guard lock(mutex_);
    if (content_.readings.size() + readings.size() > kMost) {
      content_.lost += static_cast<int64_t>(readings.size());
    } else {
      content_.readings.insert(content_.readings.end(), readings.begin(), readings.end());
    }
    content_.notes.insert(content_.notes.end(), notes.begin(), notes.end());
  }
  void put(run::ClockProbe probe) {
    const std::lock_guard lock(mutex_);
    content_.probes.push_back(std::move(probe));
  }
  void put(const std::vector<run::TrainingStep>& steps) {
    const std::lock_guard lock(mutex_);
    if (content_.steps.size() + steps.size() > kMostSteps) {
      content_.lost += static_cast<int64_t>(steps.size());
    } else {
      content_.steps.insert(content_.steps.end(), steps.begin(), steps.end());
    }
  }
  /// Gives what is there for an empty `content`.
  void take(Content& content) {
    content.clear();
    const std::lock_guard lock(mutex_);
    std::swap(content_, content);
  }

 private:
  static constexpr size_t kMost = (size_t{16} << 20) / sizeof(Reading);
  static constexpr size_t kMostSteps = size_t{1} << 18;

  std::mutex mutex_;
  Content content_;
};

}  // namespace ergometer::record
