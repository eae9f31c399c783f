#include "record/amd/sysfs_gpu.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "base/entries.h"
#include "record/factors.h"

namespace ergometer::record::amd {
namespace {

namespace fs = std::filesystem;
using run::Metric;

constexpr size_t kMostTextBytes = 4096;

/// How a file's text becomes a number.
enum class Form : uint8_t {
  kNumber,
  kMarkedClock,  ///< "1: 1300Mhz *" of pp_dpm_*: the line with the star
  kCorrected,    ///< "ue: 0\nce: 2" of ras/umc_err_count
  kUncorrected,
};

struct FileWay {
  Metric metric;
  const char* file;  ///< "hwmon/..." stands in the device's hwmon folder
  Form form;
  double factor;
};
/// Not among them: pcie_bw, which sleeps for a second (soc15_get_pcie_usage).
constexpr FileWay kFileWays[] = {
    {Metric::kInstantPower, "hwmon/power1_input", Form::kNumber, kMicro},
    {Metric::kAveragePower, "hwmon/power1_average", Form::kNumber, kMicro},
    {Metric::kPowerLimit, "hwmon/power1_cap", Form::kNumber, kMicro},
    {Metric::kEnergy, "hwmon/energy1_input", Form::kNumber, kMicro},
    {Metric::kGpuTemperature, "hwmon/edge", Form::kNumber, kMilli},
    {Metric::kHotspotTemperature, "hwmon/junction", Form::kNumber, kMilli},
    {Metric::kMemoryTemperature, "hwmon/mem", Form::kNumber, kMilli},
    {Metric::kSmClock, "hwmon/sclk", Form::kNumber, kMicro},
    {Metric::kSmClock, "pp_dpm_sclk", Form::kMarkedClock, 1},
    {Metric::kMemoryClock, "hwmon/mclk", Form::kNumber, kMicro},
    {Metric::kMemoryClock, "pp_dpm_mclk", Form::kMarkedClock, 1},
    {Metric::kFabricClock, "pp_dpm_fclk", Form::kMarkedClock, 1},
    {Metric::kGpuUtilization, "gpu_busy_percent", Form::kNumber, 1},
    {Metric::kMemoryUtilization, "mem_busy_percent", Form::kNumber, 1},
    {Metric::kMemoryUsed, "mem_info_vram_used", Form::kNumber, 1},
    {Metric::kFan, "hwmon/pwm1", Form::kNumber, kPercentOfByte},
    {Metric::kPcieReplays, "pcie_replay_count", Form::kNumber, 1},
    {Metric::kEccCorrected, "ras/umc_err_count", Form::kCorrected, 1},
    {Metric::kEccUncorrected, "ras/umc_err_count", Form::kUncorrected, 1},
};

Status number_at(const char* text, double& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtod(text, &end);
  return end == text || errno != 0 ? Status::kNone : Status::kGood;
}

Status number_behind(const std::string& text, const char* word, double& value) {
  const size_t at = text.find(word);
  return at == std::string::npos ? Status::kNone
                                 : number_at(text.c_str() + at + std::string(word).size(), value);
}

Status marked_clock(const std::string& text, double& value) {
  const size_t star = text.find('*');
  if (star == std::string::npos) return Status::kNone;
  const size_t line = text.rfind('\n', star) + 1;  // npos + 1 is 0
  const size_t colon = text.find(':', line);
  return colon < star ? number_at(text.c_str() + colon + 1, value) : Status::kNone;
}

Status parse(Form form, const std::string& text, double& value) {
  switch (form) {
    case Form::kMarkedClock: return marked_clock(text, value);
    case Form::kCorrected: return number_behind(text, "ce:", value);
    case Form::kUncorrected: return number_behind(text, "ue:", value);
    default: return number_at(text.c_str(), value);
  }
}

/// One line of text, "" where there is none. For what is asked once.
std::string line_of(const fs::path& path) {
  CallCosts costs;
  DriverFile file(path.string(), costs.slot(""));
  std::string text;
  if (file.read(text, kMostTextBytes, costs) != Status::kGood) return "";
  return text.substr(0, text.find('\n'));
}

class SysfsSensors : public Sensors {
 public:
  SysfsSensors(const std::string& folder, CallCosts& costs) : costs_(costs) {
    const std::map<std::string, fs::path> labelled = hwmon_files(folder);
    for (const FileWay& way : kFileWays) {
      const std::string name = way.file;
      fs::path path = fs::path(folder) / name;
      if (name.rfind("hwmon/", 0) == 0) {
        const auto found = labelled.find(name.substr(6));
        if (found == labelled.end()) continue;
        path = found->second;
      }
      std::error_code error;
      if (!fs::exists(path, error)) continue;
      if (std::ranges::none_of(ways_, [&](const Way& it) { return it.way->metric == way.metric; }))
        ways_.emplace_back(&way, DriverFile(path.string(), costs.slot(name)));
    }
  }

  Status read(Metric metric, Value& value) override {
    for (auto& [way, file] : ways_) {
      if (way->metric != metric) continue;
      const Status status = file.read(text_, kMostTextBytes, costs_);
      if (status != Status::kGood) return status;
      if (parse(way->form, text_, value.value) != Status::kGood) return Status::kNone;
      value.value *= way->factor;
      return Status::kGood;
    }
    return Status::kNone;
  }

 private:
  struct Way {
    const FileWay* way;
    DriverFile file;
    Way(const FileWay* it, DriverFile opened) : way(it), file(std::move(opened)) {}
  };

  /// The hwmon folder's files by name, and inputs of temperature and clock by label as well.
  static std::map<std::string, fs::path> hwmon_files(const std::string& folder) {
    std::map<std::string, fs::path> files;
    base::for_each_entry(folder + "/hwmon", [&](const fs::path& hwmon) {
      base::for_each_entry(hwmon.string(), [&](const fs::path& file) {
        const std::string name = file.filename().string();
        files[name] = file;
        const size_t label = name.find("_label");
        if (label == std::string::npos) return;
        files[line_of(file)] = hwmon / (name.substr(0, label) + "_input");
      });
    });
    return files;
  }

  CallCosts& costs_;
  std::vector<Way> ways_;
  std::string text_;
};

std::string name_of(const fs::path& folder) {
  const std::string product = line_of(folder / "product_name");
  return product.empty() ? "AMD GPU " + line_of(folder / "device") : product;
}

}  // namespace

DriverFile::DriverFile(DriverFile&& other) noexcept
    : path_(std::move(other.path_)), cost_(other.cost_), file_(std::exchange(other.file_, -1)) {}

DriverFile::~DriverFile() {
  if (file_ >= 0) close(file_);
}

Status DriverFile::read(std::string& to, size_t most, CallCosts& costs) {
  to.resize(most);
  const int failed = costs.timed(cost_, [&] {
    if (file_ < 0) file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = file_ < 0 ? -1 : pread(file_, to.data(), most, 0);
    const int error = errno;
    to.resize(got < 0 ? 0 : static_cast<size_t>(got));
    if (got >= 0) return 0;
    if (file_ >= 0) close(std::exchange(file_, -1));  // a device that comes back has new files
    return error;
  });
  if (failed == 0) return to.empty() ? Status::kNone : Status::kGood;
  return failed == EACCES || failed == EPERM ? Status::kRefused : Status::kNone;
}

GpuMetricsFile::GpuMetricsFile(const std::string& folder, CallCosts& costs)
    : costs_(costs), file_(folder + "/gpu_metrics", costs.slot("gpu_metrics")) {}

std::optional<GpuMetrics> GpuMetricsFile::read() {
  if (file_.read(bytes_, kMostGpuMetricsBytes, costs_) != Status::kGood) return {};
  return parse_gpu_metrics(
      std::span(reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size()));
}

std::string device_folder(const std::string& sys, const std::string& pci) {
  return sys + "/bus/pci/devices/" + pci;
}

std::unique_ptr<Sensors> sysfs_sensors(const std::string& folder, CallCosts& costs) {
  return std::make_unique<SysfsSensors>(folder, costs);
}

std::vector<Gpu> find_sysfs_gpus(const std::string& sys, CallCosts& costs) {
  std::map<std::string, fs::path> folders;  // by PCI address; a card has several nodes
  base::for_each_entry(sys + "/class/drm", [&](const fs::path& card) {
    const std::string name = card.filename().string();
    if (name.rfind("card", 0) != 0 || name.find('-') != std::string::npos) return;
    std::error_code error;
    const fs::path device = fs::canonical(card / "device", error);
    if (!error && line_of(device / "vendor") == "0x1002") folders[device.filename()] = device;
  });
  std::vector<Gpu> gpus;
  for (const auto& [pci, folder] : folders)
    gpus.push_back({pci, name_of(folder), line_of(folder / "unique_id"),
                    sysfs_sensors(folder.string(), costs)});
  return gpus;
}

}  // namespace ergometer::record::amd
