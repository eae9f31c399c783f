#include "report/measured/telemetry_csv.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/output_file.h"

namespace ergometer::report {

Result<void> write_telemetry(const run::Run& run, const std::string& path) {
  ERGOMETER_ASSIGN(base::OutputFile file, base::OutputFile::open(path));
  file.write("time_ns,rank,power_w,average_power_w,gpu_c,memory_c,sm_clock_mhz,event_reasons\n");
  using base::shortest;
  for (const run::Telemetry& t : run.telemetry)
    file.write(fmt::format("{},{},{},{},{},{},{},{}\n", t.time_ns, t.rank, shortest(t.power_w),
                           shortest(t.average_power_w), shortest(t.gpu_c), shortest(t.memory_c),
                           shortest(t.sm_clock_mhz), t.event_reasons));
  return file.commit();
}

}  // namespace ergometer::report
