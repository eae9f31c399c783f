#include "record/metrics/scraped.h"

#include <utility>

#include "import/telemetry/readers.h"

namespace ergometer::record {

Result<Scraped> read_metrics_page(std::string_view text, const std::string& host, int64_t now_ns) {
  importer::LogBuilder builder;
  builder.begin_file("/metrics");
  ERGOMETER_TRY(importer::read_prometheus_text(text, builder));
  Scraped scraped;
  scraped.devices = std::move(builder.log().devices);
  for (run::Device& device : scraped.devices) {
    if (device.host.empty()) device.host = host;
    for (run::Series& series : device.series)
      for (run::Sample& sample : series.samples)
        if (sample.time_ns == 0) sample.time_ns = now_ns;
  }
  for (run::TrainingLog& training : builder.log().training)
    for (run::TrainingStep& step : training.steps) {
      if (step.end_ns == 0) step.end_ns = now_ns;
      scraped.steps.push_back(step);
    }
  return scraped;
}

}  // namespace ergometer::record
