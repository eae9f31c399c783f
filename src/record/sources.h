#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/source.h"

namespace ergometer::record {

/// Where sources look, and for what. Tests point them at fakes.
struct SourceOptions {
  std::vector<run::Metric> metrics;  ///< only these; empty: all
  std::string sys = "/sys", proc = "/proc";
  std::vector<std::string> nvml_libraries = {"libnvidia-ml.so.1", "libnvidia-ml.so"};
  std::vector<std::string> amd_smi_libraries = {"libamd_smi.so", "/opt/rocm/lib/libamd_smi.so",
                                                "libamd_smi.so.27", "libamd_smi.so.26",
                                                "libamd_smi.so.25"};
  std::vector<std::string> rocm_smi_libraries = {"librocm_smi64.so.7", "librocm_smi64.so",
                                                 "/opt/rocm/lib/librocm_smi64.so",
                                                 "librocm_smi64.so.1"};
  std::string redfish;                ///< "https://bmc/": asked when not empty
  std::string redfish_credentials;    ///< a file with "user:password"; never on the command line
  std::string redfish_certificate;    ///< a file in PEM form: trusted besides the system's
  bool redfish_insecure = false;      ///< any certificate will do
  std::string ipmitool = "ipmitool";  ///< the program; empty: not asked
  std::string replay;                 ///< a Run: the only source then
  double replay_speed = 1;            ///< recorded seconds in a second; 0: a row a read, no waiting

  bool wants(run::Metric metric) const;
};

/// Each opens one source. An error of kind kMissing says what is not there: a library, a device,
/// a permission; other sources go on without it.
using Opened = Result<std::unique_ptr<Source>>;
Opened open_nvml(const SourceOptions& options);
Opened open_amd(const SourceOptions& options);  ///< AMD SMI, else ROCm SMI, else sysfs
Opened open_rapl(const SourceOptions& options);
Opened open_hwmon(const SourceOptions& options);
Opened open_infiniband(const SourceOptions& options);
Opened open_ethernet(const SourceOptions& options);
Opened open_proc(const SourceOptions& options);
Opened open_redfish(const SourceOptions& options);
Opened open_ipmi(const SourceOptions& options);
Opened open_replay(const SourceOptions& options);

/// Every source that this machine has, and for the others why not.
struct Sources {
  std::vector<std::unique_ptr<Source>> open;
  struct Missing {
    std::string name, why;
  };
  std::vector<Missing> missing;
};
/// Input errors only: an option that names something unusable.
Result<Sources> open_sources(const SourceOptions& options);

}  // namespace ergometer::record
