#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "base/text.h"
#include "import/otlp/otlp_document.h"
#include "import/otlp/otlp_steps.h"
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
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  simdjson::dom::document_stream documents;
  const auto wrong = [&](size_t at, std::string_view what) {
    return input_error("{}:{}: {}", log.file(), base::line_at(text, at), what);
  };
  // The whole of a file may be one document.
  const size_t batch = std::max<size_t>(text.size(), size_t{1} << 20);
  if (const auto error = parser.parse_many(padded, batch).get(documents);
      error != simdjson::SUCCESS)
    return wrong(0, simdjson::error_message(error));
  OtlpReader reader(log);
  for (auto at = documents.begin(); at != documents.end(); ++at) {
    simdjson::dom::element document;
    if (const auto error = (*at).get(document); error != simdjson::SUCCESS)
      return wrong(at.current_index(),
                   fmt::format("found JSON that is malformed ({}), allowed: a request of OTLP",
                               simdjson::error_message(error)));
    const auto read = otlp_document(document);
    if (!read) return wrong(at.current_index(), read.error().message);
    reader.read(*read);
  }
  // The collector may be in the middle of a line, or have been killed there.
  if (documents.truncated_bytes() > 0)
    log.drop("a document that is cut off at the end of the file");
  reader.finish();
  return {};
}

}  // namespace ergometer::importer
