// A Run file of any bytes, through everything that takes one: read whole and as telemetry,
// analyzed, merged with itself, compared by what was measured, played back, followed as it grows,
// and made into a report.
// Whatever it holds, the answer is a result or an error with a message.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "analysis/merge_runs.h"
#include "analysis/telemetry/telemetry.h"
#include "compare/measured.h"
#include "page/document.h"
#include "record/sources.h"
#include "run/run.h"
#include "serve/follower.h"

namespace {

using namespace ergometer;

const std::string& path() {
  static const std::string name = "/dev/shm/ergometer-fuzz-run-" + std::to_string(getpid());
  return name;
}

template <class T>
void check_told(const Result<T>& result) {
  if (!result && result.error().message.empty()) std::abort();
}

void play_back() {
  record::SourceOptions options;
  options.replay = path();
  options.replay_speed = 0;
  check_told(record::open_replay(options));
}

void follow() {
  constexpr int64_t kLatest = serve::PushLimits::kLatestNs;
  const auto is_time = [](int64_t ns) { return ns >= 0 && ns <= kLatest; };
  const serve::Push push = serve::read_growth(path(), {});
  for (const serve::PushBatch& batch : push.batches) {
    if (batch.sequence < 1 || batch.sequence > kLatest || batch.lost_behind(0) < 0) std::abort();
    if (!is_time(batch.clock.time_ns) || !is_time(batch.clock.monotonic_ns)) std::abort();
    for (const serve::PushReading& reading : batch.readings)
      if (reading.device >= push.devices.size() || !is_time(reading.sample.time_ns)) std::abort();
  }
}

void use(const run::Run& run) {
  check_told(compare::measure(run.traces, run.log, "a"));
  check_told(analysis::merge_runs({{"a", run}}, ""));
  check_told(analysis::merge_runs({{"a", run}, {"b", run}}, ""));
  page::DocumentOptions all;
  all.all_ranks = true;
  check_told(page::document({{"a", run}}, all));
  page::DocumentOptions two;
  two.most_simulations = 4;
  check_told(page::document({{"a", run}, {"b", run}}, two));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  std::FILE* file = std::fopen(path().c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  const auto run = run::read_run(path());
  check_told(run);
  if (run) use(*run);
  const auto log = run::read_device_log(path());
  if (log) (void)analysis::analyze_telemetry(*log);
  (void)run::has_traces(path());
  play_back();
  follow();
  std::remove(path().c_str());
  return 0;
}
