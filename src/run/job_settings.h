#pragma once

#include <memory>
#include <string>

#include "run/run.h"

namespace ergometer::run {

/// Among a Run's facts, the command that it came from: what was recorded, or how `simulate` is
/// asked for the predicted job.
inline constexpr const char* kCommandFact = "command";

/// What a predicted Run says of its job's settings: what the JSON that it carries tells. Of a
/// recorded Run nothing is known.
class JobSettings {
 public:
  explicit JobSettings(const Run& run);
  ~JobSettings();

  /// Names as in `--json`'s "job": a part and a member. Where the Run does not tell, `unknown`.
  bool on(const char* part, const char* name, bool unknown) const;
  double number(const char* part, const char* name, double unknown) const;
  std::string text(const char* part, const char* name) const;  ///< or empty

 private:
  struct Json;
  std::unique_ptr<const Json> json_;
};

}  // namespace ergometer::run
