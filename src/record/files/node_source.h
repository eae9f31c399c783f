#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/files/make_device.h"
#include "record/sources.h"

namespace ergometer::record {

/// A source of one device: the node itself.
class NodeSource : public Source {
 public:
  std::string_view name() const override { return name_; }
  std::span<const run::Device> devices() const override { return {&node_, 1}; }
  std::span<const run::Metric> metrics() const override { return metrics_; }
  std::vector<CallCost> costs() const override { return costs_; }

 protected:
  NodeSource(std::string_view name, std::string device)
      : name_(name), node_(make_device(run::DeviceKind::kNode, std::move(device))) {}

  /// Leaves of the metrics those that are asked for; an error when there is none.
  Result<void> keep_wanted(const SourceOptions& options) {
    std::erase_if(metrics_, [&](run::Metric metric) { return !options.wants(metric); });
    if (metrics_.empty()) return missing_error("gives none of the metrics asked for");
    return {};
  }
  /// Says once why it fell silent, and once that it is back; empty: it answered.
  void note(std::string_view problem, Batch& batch) {
    if (problem.empty() != troubled_) return;
    batch.notes.push_back(troubled_ ? fmt::format("{}: answers again", name_)
                                    : fmt::format("{}: no longer answers: {}", name_, problem));
    troubled_ = !troubled_;
  }

  std::string_view name_;
  run::Device node_;
  std::vector<run::Metric> metrics_;
  std::vector<CallCost> costs_;

 private:
  bool troubled_ = false;
};

}  // namespace ergometer::record
