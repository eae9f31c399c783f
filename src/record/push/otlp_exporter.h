#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "record/metrics/otlp.h"
#include "record/push/push_client.h"
#include "record/snapshot.h"

namespace ergometer::record {

struct OtlpOptions {
  PushTarget target;  ///< its URL as given; without a path, OTLP's own "/v1/metrics" is asked
  OtlpResource resource;
};

/// Tells an OTLP receiver, such as OpenTelemetry's collector, the latest readings of a Snapshot
/// every ten seconds, and every training step. Readings of times at which it does not answer are
/// left out (counters go on from where they are); steps are told again where it did not answer, or
/// asks for them again, status 429, 502, 503 or 504. The recording waits for
/// none of this, and its end for two seconds at most.
class OtlpExporter {
 public:
  using Say = std::function<void(const std::string&)>;

  /// Input error: a URL that is none. `say` hears, once each, that the receiver does not answer or
  /// refuses, and that it takes readings again; from a thread of the exporter.
  static Result<OtlpExporter> start(OtlpOptions options, const Snapshot& snapshot, Say say);
  OtlpExporter(OtlpExporter&&) noexcept;
  ~OtlpExporter();  ///< the last readings, and what time is left for them

  struct Shared;

 private:
  OtlpExporter(std::shared_ptr<Shared> shared, std::thread thread);
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace ergometer::record
