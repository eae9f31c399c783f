#include "record/nvml/nvml_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "record/every.h"
#include "record/nvml/reader.h"

namespace ergometer::record {
namespace {

using nvml::Handle;
using nvml::Library;
using run::Metric;
using Clock = std::chrono::steady_clock;
struct Gpu {
  Handle handle = nullptr;
  std::string pci;
  std::optional<nvml::Reader> reader;  ///< none: the GPU is lost
  Clock::time_point retry;
};

std::string names(const std::set<Metric>& metrics) {
  std::vector<std::string> words;
  for (const Metric metric : metrics) words.emplace_back(run::metric_info(metric).name);
  return fmt::format("{}", fmt::join(words, ", "));
}

class NvmlSource : public Source {
 public:
  NvmlSource(Library nvml, const SourceOptions& options, const nvml::Paces& paces)
      : nvml_(std::move(nvml)),
        options_(options),
        retry_(paces.retry),
        slow_(paces.slow),
        rings_(paces.rings) {}
  ~NvmlSource() override { free_events(); }

  Result<void> open() {
    unsigned count = 0;
    ERGOMETER_TRY(nvml_.check(nvml_.call().count(&count), "number of GPUs"));
    for (unsigned index = 0; index < count; ++index) add_gpu(index);
    if (gpus_.empty())
      return missing_error(notes_.empty() ? "NVML finds no GPU"
                                          : fmt::format("NVML: {}", notes_.front()));
    for (Gpu& gpu : gpus_) plan(gpu);
    listen_for_errors();
    note_plans();
    return {};
  }

  std::string_view name() const override { return "nvml"; }
  std::span<const run::Device> devices() const override { return devices_; }
  std::span<const Metric> metrics() const override { return metrics_; }
  std::vector<CallCost> costs() const override { return costs_.all(); }

  void read(Batch& batch) override {
    const Clock::time_point now = Clock::now();
    const nvml::Due due{slow_.due(now), rings_.due(now)};
    for (std::string& note : std::exchange(notes_, {})) batch.notes.push_back(std::move(note));
    for (size_t i = 0; i < gpus_.size(); ++i) read_gpu(i, due, now, batch);
    if (due.slow) read_errors(batch);
  }

 private:
  void add_gpu(unsigned index) {
    const nvml::Functions& call = nvml_.call();
    Gpu gpu;
    if (const int status = call.handle_by_index(index, &gpu.handle); status != nvml::kSuccess) {
      notes_.push_back(fmt::format("GPU {} does not answer: {}", index, nvml_.text(status)));
      return;
    }
    nvml::PciInfo pci{};
    char name[96] = {}, uuid[96] = {};
    if (call.pci_info(gpu.handle, &pci) == nvml::kSuccess) gpu.pci = pci.id;
    call.name(gpu.handle, name, sizeof name);
    call.uuid(gpu.handle, uuid, sizeof uuid);
    unsigned mig = 0, pending = 0;
    if (call.mig_mode(gpu.handle, &mig, &pending) == nvml::kSuccess && mig != 0)
      notes_.push_back(fmt::format(
          "GPU {} is divided by MIG: readings are of the whole GPU, and it has no utilisation",
          index));
    run::Device device;
    device.index = index;
    device.name = name;
    device.uuid = uuid;
    devices_.push_back(std::move(device));
    gpus_.push_back(std::move(gpu));
  }

  /// Sets up `gpu`'s reader, or leaves the GPU lost.
  int plan(Gpu& gpu) {
    nvml::Plan plan = nvml::make_plan(nvml_, gpu.handle, options_, costs_);
    const int status = plan.status;
    if (status == nvml::kSuccess) gpu.reader.emplace(nvml_, gpu.handle, std::move(plan), costs_);
    return status;
  }

  void note_plans() {
    std::set<Metric> given, refused, too_slow;
    for (size_t i = 0; i < gpus_.size(); ++i) {
      if (!gpus_[i].reader) {
        notes_.push_back(
            fmt::format("GPU {} ({}) does not answer", devices_[i].index, gpus_[i].pci));
        gpus_[i].retry = Clock::now() + retry_;
        continue;
      }
      const nvml::Plan& plan = gpus_[i].reader->plan();
      given.insert(plan.metrics.begin(), plan.metrics.end());
      refused.insert(plan.refused.begin(), plan.refused.end());
      too_slow.insert(plan.too_slow.begin(), plan.too_slow.end());
    }
    if (listens_) given.insert(Metric::kXid);
    if (may_not_listen_) refused.insert(Metric::kXid);
    metrics_.assign(given.begin(), given.end());
    if (!refused.empty())
      notes_.push_back(fmt::format("no permission to read {} of NVIDIA GPUs", names(refused)));
    if (!too_slow.empty())
      notes_.push_back(fmt::format(
          "{} of NVIDIA GPUs: read once a second, because NVML takes over 1 ms", names(too_slow)));
  }

  void read_gpu(size_t i, const nvml::Due& due, Clock::time_point now, Batch& batch) {
    Gpu& gpu = gpus_[i];
    if (!gpu.reader && (now < gpu.retry || !find_again(i, batch))) return;
    const int status = gpu.reader->read(i, due, batch);
    if (gpu.reader->foreign_clock() && !std::exchange(noted_clock_, true))
      batch.notes.emplace_back(
          "NVML's times of fields are seconds off this host's clock: the host's are recorded");
    if (status == nvml::kSuccess) return;
    gpu.reader.reset();
    gpu.retry = now + retry_;
    batch.notes.push_back(fmt::format("GPU {} ({}) no longer answers: {}", devices_[i].index,
                                      gpu.pci, nvml_.text(status)));
  }

  bool find_again(size_t i, Batch& batch) {
    Gpu& gpu = gpus_[i];
    gpu.retry = Clock::now() + retry_;
    const bool all_lost =
        std::ranges::none_of(gpus_, [](const Gpu& it) { return it.reader.has_value(); });
    if (all_lost) {
      // A driver that was loaded anew knows none of the old handles.
      free_events();
      if (!nvml_.restart()) return false;
    }
    if (nvml_.call().handle_by_pci(gpu.pci.c_str(), &gpu.handle) != nvml::kSuccess) return false;
    if (plan(gpu) != nvml::kSuccess) return false;
    if (all_lost)
      listen_for_errors();
    else if (listens_)
      nvml_.call().register_events(gpu.handle, nvml::kXidEvent, events_);
    batch.notes.push_back(fmt::format("GPU {} ({}) answers again", devices_[i].index, gpu.pci));
    return true;
  }

  void listen_for_errors() {
    const nvml::Functions& call = nvml_.call();
    if (!options_.wants(Metric::kXid) || call.create_events(&events_) != nvml::kSuccess) return;
    for (const Gpu& gpu : gpus_) {
      if (!gpu.reader) continue;
      const int status = call.register_events(gpu.handle, nvml::kXidEvent, events_);
      listens_ |= status == nvml::kSuccess;
      may_not_listen_ |= status == nvml::kNoPermission;
    }
    if (!listens_) free_events();
  }
  void free_events() {
    if (events_ != nullptr) nvml_.call().free_events(std::exchange(events_, nullptr));
    listens_ = false;
  }

  /// The driver's error messages since the last look, without waiting for one.
  void read_errors(Batch& batch) {
    if (!listens_) return;
    const size_t slot = costs_.slot("nvmlEventSetWait_v2");
    constexpr int kMostEvents = 64;  // the rest waits for the next look
    for (int n = 0; n < kMostEvents; ++n) {
      nvml::EventData event{};
      bool there = false;
      costs_.timed(slot, [&] {
        const int status = nvml_.call().wait_for_event(events_, &event, 0);
        there = status == nvml::kSuccess;
        return status == nvml::kTimeout ? nvml::kSuccess : status;
      });
      if (!there) return;
      const auto gpu = std::ranges::find(gpus_, event.device, &Gpu::handle);
      if (gpu == gpus_.end() || event.type != nvml::kXidEvent) continue;
      const auto device = static_cast<size_t>(gpu - gpus_.begin());
      batch.add(device, Metric::kXid, now_ns(), static_cast<double>(event.data));
      if (noted_errors_.insert({device, event.data}).second)
        batch.notes.push_back(fmt::format("GPU {} ({}): the driver reports XID {}",
                                          devices_[device].index, gpu->pci, event.data));
    }
  }

  Library nvml_;
  SourceOptions options_;
  CallCosts costs_;
  std::vector<Gpu> gpus_;
  std::vector<run::Device> devices_;  ///< as `gpus_`
  std::vector<Metric> metrics_;
  std::vector<std::string> notes_;  ///< until the next read
  Clock::duration retry_;
  Every slow_, rings_;
  nvml::EventSet events_ = nullptr;
  bool listens_ = false, may_not_listen_ = false, noted_clock_ = false;
  std::set<std::pair<size_t, unsigned long long>> noted_errors_;
};

}  // namespace

Opened nvml::open(const SourceOptions& options, const Paces& paces) {
  ERGOMETER_ASSIGN(Library nvml, Library::open(options.nvml_libraries,
                                               "NVIDIA's GPUs are read through their driver"));
  auto source = std::make_unique<NvmlSource>(std::move(nvml), options, paces);
  ERGOMETER_TRY(source->open());
  return source;
}

Opened open_nvml(const SourceOptions& options) { return nvml::open(options, {}); }

}  // namespace ergometer::record
