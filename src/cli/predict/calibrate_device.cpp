#include "cli/predict/calibrate_device.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include "base/output_file.h"
#include "base/text.h"
#include "calibration/device_output.h"
#include "calibration/nvidia_device.h"
#include "calibration/nvml.h"
#include "calibration/simulated_device.h"
#include "cli/console/progress.h"
#include "spec/job/job_words.h"

namespace ergometer::cli {
namespace {

using calibration::DeviceModel;
using calibration::DeviceRecord;
using calibration::SimulatedGpu;

constexpr double kSamplePeriodS = 0.02;
constexpr std::string_view kSimulated = "simulated:";

/// What --device names.
struct Source {
  std::string simulated;                 ///< GPU or node of the catalog; empty: a real one
  unsigned index = 0;                    ///< of the real one
  std::optional<spec::Cooling> cooling;  ///< not given: as the catalog's node is built
};

Result<Source> source_of(const Arguments& arguments) {
  Source source;
  if (arguments.has("cooling"))
    source.cooling = static_cast<spec::Cooling>(
        spec::index_of(spec::words_of(spec::Cooling{}), arguments.value("cooling")));
  const std::string text = arguments.value("device");
  if (text.starts_with(kSimulated) && text.size() > kSimulated.size()) {
    source.simulated = text.substr(kSimulated.size());
    return source;
  }
  constexpr int64_t kMostGpus = 255;
  const auto index = base::parse_integer(text.empty() ? "0" : text);
  if (index && *index >= 0 && *index <= kMostGpus) {
    source.index = static_cast<unsigned>(*index);
    return source;
  }
  return input_error(
      "--device: '{}' is not allowed; it is the number of an NVIDIA GPU, 0 to {}, or "
      "simulated:GPU with a GPU of the catalog",
      text, kMostGpus);
}

calibration::DeviceLimits limits_of(const SimulatedGpu& gpu) {
  const physics::GpuPower& power = gpu.power;
  return {gpu.name,    power.clocks.lowest_hz, power.clocks.highest_hz,
          power.cap_w, power.lowest_cap_w,     power.highest_cap_w};
}

/// The GPU behind "simulated:".
Result<SimulatedGpu> named_gpu(const Source& source) {
  auto gpu = calibration::simulated_gpu(source.simulated, source.cooling);
  if (gpu) return gpu;
  return input_error("--device {}{}: {}", kSimulated, source.simulated, gpu.error().message);
}

/// Without the GPU there are no limits to plan for: those of an H200 stand in.
Result<calibration::DeviceLimits> planned_limits(const Source& source, const Console& console) {
  if (!source.simulated.empty()) {
    ERGOMETER_ASSIGN(const SimulatedGpu gpu, named_gpu(source));
    return limits_of(gpu);
  }
  const auto nvml = calibration::Nvml::open(calibration::NvidiaLibraries{}.nvml, source.index);
  auto limits =
      nvml ? nvml->limits() : Result<calibration::DeviceLimits>(tl::unexpected(nvml.error()));
  if (limits) return limits;
  console.note(limits.error().message + "; the plan is that of an H200");
  constexpr double kMega = 1e6;
  // nvidia-smi -q of an H200 SXM5: supported clocks, power limits.
  return calibration::DeviceLimits{"an H200", 345 * kMega, 1980 * kMega, 700, 200, 700};
}

std::string file_name_of(std::string_view device) {
  std::string name;
  for (const char c : device) {
    if (base::is_letter_or_digit(c))
      name += base::lower(c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  return name + (name.ends_with('-') ? "measured" : "-measured");
}

int dry_run(const Arguments& arguments, const Source& source,
            const calibration::DeviceLimits& limits, const Console& console) {
  std::string out = calibration::to_text(calibration::measuring_plan(limits));
  out += fmt::format("\nA sample every {:.0f} ms: power, temperatures, clock, event reasons.\n",
                     1000 * kSamplePeriodS);
  if (source.simulated.empty())
    out += fmt::format(
        "Needs GPU {} without other work, cuBLAS, and the permission to set power limit and "
        "clocks\n(root); without the permission those phases are left out. Both are given back at "
        "the end.\n",
        source.index);
  const std::string name = file_name_of(limits.name);
  if (arguments.has("out"))
    out += fmt::format(
        "Would write {0}/record.csv, {0}/device.json, {0}/power/{1}.yaml and "
        "{0}/cooling/{1}.yaml.\n",
        arguments.value("out"), name);
  console.answer(out);
  return 0;
}

/// While it lives, an interrupt is noted instead of ending the program, so that power limit and
/// clocks are given back first.
class Interrupts {
 public:
  Interrupts() {
    noted_ = 0;
    for (size_t i = 0; i < kCount; ++i) before_[i] = std::signal(kSignals[i], note);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    for (size_t i = 0; i < kCount; ++i) std::signal(kSignals[i], before_[i]);
    if (noted_ != 0) std::raise(noted_);
  }
  static bool noted() { return noted_ != 0; }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  static constexpr size_t kCount = std::size(kSignals);
  static void note(int signal) { noted_ = signal; }
  // A signal's handler can reach nothing else.
  static volatile std::sig_atomic_t noted_;
  void (*before_[kCount])(int) = {};
};
volatile std::sig_atomic_t Interrupts::noted_ = 0;

Result<DeviceRecord> record_of(calibration::Device& device, const Console& console) {
  const auto plan = calibration::measuring_plan(device.limits());
  Progress progress(console, "measure", plan.size());
  const Interrupts interrupts;
  return calibration::record(device, plan, kSamplePeriodS,
                             {[&](const auto&) { progress.advance(); }, Interrupts::noted});
}

/// A device, what is believed of it, and for a simulated one what it is.
struct Opened {
  std::unique_ptr<calibration::Device> device;
  DeviceModel prior;
  std::optional<DeviceModel> truth;
};

Result<Opened> open_simulated(const Source& source) {
  ERGOMETER_ASSIGN(SimulatedGpu gpu, named_gpu(source));
  Opened opened;
  opened.prior = {gpu.power, gpu.energy, gpu.cooling};
  // No board is the catalog's: the fit has to find this one's numbers.
  constexpr uint64_t kBoard = 1;
  opened.truth = calibration::board_of_its_own(opened.prior, kBoard);
  gpu.power = opened.truth->power;
  gpu.energy = opened.truth->energy;
  gpu.cooling = opened.truth->cooling;
  opened.device = calibration::simulate_device(gpu);
  return opened;
}

Result<Opened> open_real(const Source& source) {
  Opened opened;
  ERGOMETER_ASSIGN(opened.device, calibration::open_nvidia_device(source.index));
  const calibration::DeviceLimits& limits = opened.device->limits();
  const auto known = calibration::simulated_gpu(limits.name, source.cooling);
  if (!known)
    return input_error("GPU {} is a {}: {}", source.index, limits.name, known.error().message);
  opened.prior = {known->power, known->energy, known->cooling};
  opened.prior.power.clocks.lowest_hz = limits.lowest_clock_hz;
  opened.prior.power.clocks.highest_hz = limits.highest_clock_hz;
  opened.prior.power.voltage.highest_hz = limits.highest_clock_hz;
  return opened;
}

Result<void> write_results(const std::filesystem::path& out, const DeviceRecord& record,
                           const calibration::DeviceFit& fit) {
  const std::string name = file_name_of(record.limits.name);
  std::error_code error;
  for (const char* folder : {"power", "cooling"}) {
    std::filesystem::create_directories(out / folder, error);
    if (error)
      return input_error("{}: cannot be made: {}", (out / folder).string(), error.message());
  }
  const auto write = [&](const std::filesystem::path& path, const std::string& text) {
    return base::write_file_atomically((out / path).string(), text);
  };
  ERGOMETER_TRY(write("record.csv", calibration::to_csv(record)));
  ERGOMETER_TRY(write("device.json", calibration::to_json(record, fit)));
  const std::filesystem::path file = name + ".yaml";
  ERGOMETER_TRY(write("power" / file, calibration::power_file(name, record, fit)));
  return write("cooling" / file, calibration::cooling_file(name, record, fit));
}

}  // namespace

Result<int> run_calibrate_device(const Arguments& arguments, const Console& console) {
  if (arguments.has("truth") || !arguments.words.empty())
    return input_error(
        "calibrate: --device measures a GPU and --truth fits to measured runs; give one of them");
  ERGOMETER_ASSIGN(const Source source, source_of(arguments));
  if (arguments.has("dry-run")) {
    ERGOMETER_ASSIGN(const auto limits, planned_limits(source, console));
    return dry_run(arguments, source, limits, console);
  }
  ERGOMETER_ASSIGN(Opened opened,
                   source.simulated.empty() ? open_real(source) : open_simulated(source));
  ERGOMETER_ASSIGN(const DeviceRecord record, record_of(*opened.device, console));
  ERGOMETER_ASSIGN(const calibration::DeviceFit fit, calibration::fit_device(record, opened.prior));
  console.answer(arguments.has("json") ? calibration::to_json(record, fit)
                                       : calibration::to_text(record, fit, opened.truth));
  if (arguments.has("out")) ERGOMETER_TRY(write_results(arguments.value("out"), record, fit));
  return fit.within_limits() ? 0 : 1;
}

}  // namespace ergometer::cli
