// What recorders push to `ergometer serve`, or tell when they are asked: whatever comes, what is
// taken is in bounds.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "file_input.h"
#include "record/metrics/http_exchange.h"
#include "serve/push_format.h"
#include "serve/scraper.h"

namespace {

using namespace ergometer;

void check(const serve::Push& push) {
  if (push.recorder.empty() || push.host.empty() || push.job.empty()) std::abort();
  if (push.job.find('/') != push.job.npos || push.job.front() == '.') std::abort();
  int64_t before = 0;
  for (const serve::PushBatch& batch : push.batches) {
    if (batch.sequence <= before) std::abort();
    before = batch.sequence;
    for (const serve::PushReading& reading : batch.readings) {
      const run::MetricInfo& info = run::metric_info(reading.metric);
      const double value = reading.sample.value;
      if (reading.device >= push.devices.size() || reading.sample.time_ns < 0) std::abort();
      if (!std::isfinite(value) || value < info.lowest || value > info.highest) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static serve::PushReader reader;
  if (size <= serve::PushLimits::kBytes)
    if (const auto push = reader.read(text)) check(*push);
  if (record::head_length(text) > size) std::abort();
  record::parse_request(text);
  const serve::ScrapeTarget target{"http://node1:9400/metrics", "node1", "job"};
  if (const auto push = serve::push_of_page(target, std::string(text), 1'000'000'000)) check(*push);
  if (const auto targets = serve::read_scrape_targets(FileInput(data, size).path()))
    for (const serve::ScrapeTarget& one : *targets)
      if (one.host.empty() || one.job.empty()) std::abort();
  return 0;
}
