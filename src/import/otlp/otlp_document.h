#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/telemetry/readers.h"

namespace simdjson::dom {
class element;
}

namespace ergometer::importer {

/// A number at a time, as a gauge or a sum tells it.
struct OtlpPoint {
  std::string name;           ///< as the program named it: "ergometer.gpu.power"
  std::string named;          ///< what Prometheus calls it: "ergometer_gpu_power_watts"
  bool milliseconds = false;  ///< by its unit; other units are taken for what the name says
  std::vector<Label> labels;  ///< of its resource, whose host.name is "host", and its own
  int64_t time_ns = -1;       ///< < 0: not said
  double value = 0;
};

/// A stretch of time that a program marked.
struct OtlpSpan {
  std::string name;
  std::vector<Label> labels;
  int64_t start_ns = 0, end_ns = 0;
};

struct OtlpDocument {
  std::vector<OtlpPoint> points;
  std::vector<OtlpSpan> spans;
};

/// Whether a text begins as a request of OTLP in JSON does, or a line of the collector's file
/// exporter.
bool is_otlp_start(std::string_view text);

/// Points and spans of such a document. Throws nothing; the input error says what member is wrong,
/// without a file. Histograms, summaries and logs are passed over.
Result<OtlpDocument> otlp_document(const simdjson::dom::element& document);

}  // namespace ergometer::importer
