#include "record/sources.h"

#include <algorithm>
#include <chrono>

#include "base/collection.h"

namespace ergometer::record {
namespace {

struct Kind {
  const char* name;
  Opened (*open)(const SourceOptions&);
};

/// Every metric that `options` wants but one.
SourceOptions without(SourceOptions options, run::Metric metric) {
  std::vector<run::Metric> rest;
  for (size_t i = 0; i < static_cast<size_t>(run::Metric::kCount); ++i)
    if (const auto m = static_cast<run::Metric>(i); m != metric && options.wants(m))
      rest.push_back(m);
  options.metrics = std::move(rest);
  return options;
}

/// Opens sources one after the other.
class Opener {
 public:
  Result<void> open(const Kind& kind, const SourceOptions& options);
  void leave_out(const char* name, const char* why) { sources_.missing.push_back({name, why}); }
  bool has(std::string_view name) const;
  bool knows_node_power() const;
  Sources take() { return std::move(sources_); }

 private:
  Sources sources_;
};

Result<void> Opener::open(const Kind& kind, const SourceOptions& options) {
  auto source = kind.open(options);
  if (source) {
    sources_.open.push_back(*std::move(source));
  } else if (source.error().kind == base::ErrorKind::kMissing) {
    sources_.missing.push_back({kind.name, source.error().message});
  } else {
    return tl::unexpected(std::move(source).error());
  }
  return {};
}

bool Opener::has(std::string_view name) const {
  return std::ranges::any_of(sources_.open,
                             [&](const auto& source) { return source->name() == name; });
}

bool Opener::knows_node_power() const {
  return std::ranges::any_of(sources_.open, [](const auto& source) {
    const auto metrics = source->metrics();
    return !source->devices().empty() && source->devices()[0].kind == run::DeviceKind::kNode &&
           base::contains(metrics, run::Metric::kPower);
  });
}

/// One controller is asked in one way.
Result<void> open_controller(Opener& opener, const SourceOptions& options) {
  if (options.redfish.empty()) {
    opener.leave_out("redfish", "no controller is named");
  } else {
    ERGOMETER_TRY(opener.open({"redfish", open_redfish}, options));
  }
  if (opener.has("redfish")) {
    opener.leave_out("ipmi", "the node's controller answers over Redfish");
  } else if (options.ipmitool.empty()) {
    opener.leave_out("ipmi", "switched off");
  } else {
    ERGOMETER_TRY(opener.open({"ipmi", open_ipmi}, options));
  }
  return {};
}

}  // namespace

int64_t now_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

bool SourceOptions::wants(run::Metric metric) const {
  return metrics.empty() || base::contains(metrics, metric);
}

Result<Sources> open_sources(const SourceOptions& options) {
  Opener opener;
  if (!options.replay.empty()) {
    ERGOMETER_TRY(opener.open({"replay", open_replay}, options));
    return opener.take();
  }
  for (const Kind& kind : {Kind{"nvml", open_nvml}, Kind{"amd", open_amd}, Kind{"rapl", open_rapl}})
    ERGOMETER_TRY(opener.open(kind, options));
  ERGOMETER_TRY(open_controller(opener, options));
  // The node's power counts once: who adds up nodes must not find one twice.
  ERGOMETER_TRY(opener.open({"hwmon", open_hwmon}, opener.knows_node_power()
                                                       ? without(options, run::Metric::kPower)
                                                       : options));
  for (const Kind& kind : {Kind{"infiniband", open_infiniband}, Kind{"ethernet", open_ethernet},
                           Kind{"proc", open_proc}})
    ERGOMETER_TRY(opener.open(kind, options));
  return opener.take();
}

}  // namespace ergometer::record
