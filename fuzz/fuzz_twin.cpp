// What a recording of any kind says of a job, for `calibrate --from`: refused with a message, or
// numbers that a fit can be held to.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "calibration/twin/recording.h"
#include "file_input.h"
#include "import/import.h"

namespace {

using namespace ergometer;

void check(const calibration::twin::Recording& recording) {
  for (const auto& [name, value] : recording.values)
    if (!std::isfinite(value)) std::abort();
  if (!(recording.values.at("step") > 0)) std::abort();
  for (const auto& [name, noise] : recording.noises)
    if (!(noise > 0) || !std::isfinite(noise)) std::abort();
  if (!std::isfinite(
          calibration::twin::form_deviation(recording.durations, recording.durations, {})))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The first byte says how many steps the traces hold.
  const int64_t steps = size > 0 ? data[0] % 4 : 0;
  const size_t skipped = size > 0 ? 1 : 0;
  const FileInput input(data + skipped, size - skipped);
  const auto recorded = importer::read_recorded({input.path()}, {}, 1);
  if (!recorded) return 0;
  const auto recording = calibration::twin::recording_of(
      recorded->traces.ranks, recorded->telemetry.log, "recorded", steps);
  if (recording) check(*recording);
  if (!recording && recording.error().message.empty()) std::abort();
  return 0;
}
