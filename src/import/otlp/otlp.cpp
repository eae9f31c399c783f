#include <simdjson.h>

#include <algorithm>

#include "import/otlp/otlp_document.h"
#include "import/otlp/otlp_steps.h"
#include "import/telemetry/json_documents.h"
#include "import/telemetry/readers.h"

namespace ergometer::importer {
namespace {

class OtlpReader {
 public:
  explicit OtlpReader(LogBuilder& log) : log_(log), samples_(log) {}
  void read(const OtlpDocument& document);
  void finish();

 private:
  LogBuilder& log_;
  ExportedSamples samples_;
  OtlpSteps reader_;
  std::vector<run::TrainingStep> steps_;
  int64_t spans_ = 0;
};

void OtlpReader::read(const OtlpDocument& document) {
  const size_t before = steps_.size();
  reader_.add(document, steps_);
  for (const OtlpPoint& point : document.points)
    if (!OtlpSteps::is_of_step(point.named))
      samples_.add(point.named, point.labels, point.time_ns, point.value);
  spans_ += static_cast<int64_t>(document.spans.size());
  if (!document.spans.empty()) spans_ -= static_cast<int64_t>(steps_.size() - before);
}

void OtlpReader::finish() {
  samples_.finish();
  if (spans_ > 0) log_.drop("a span that is no training step, or that of another rank", spans_);
  if (!steps_.empty()) add_training(std::move(steps_), log_);
}

}  // namespace

bool is_otlp(std::string_view head) { return is_otlp_start(head); }

Result<void> read_otlp(std::string_view text, LogBuilder& log) {
  OtlpReader reader(log);
  // The whole of a file may be one document.
  const size_t longest = std::max<size_t>(text.size(), size_t{1} << 20);
  ERGOMETER_TRY(read_json_documents(text, longest, "a request of OTLP", log,
                                    [&](const simdjson::dom::element& document) -> std::string {
                                      const auto read = otlp_document(document);
                                      if (!read) return read.error().message;
                                      reader.read(*read);
                                      return "";
                                    }));
  reader.finish();
  return {};
}

}  // namespace ergometer::importer
