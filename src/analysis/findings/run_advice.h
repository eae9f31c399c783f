#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "run/run.h"

namespace ergometer::analysis {

/// What the job of a predicted Run says of its settings, as far as the Run's JSON of it tells.
class JobSettings {
 public:
  explicit JobSettings(const run::Run& run);
  ~JobSettings();

  /// Names as in `--json`'s "job": a part and a member. Where the Run does not tell, `unknown`.
  bool on(const char* part, const char* name, bool unknown) const;
  double number(const char* part, const char* name, double unknown) const;
  std::string text(const char* part, const char* name) const;  ///< or empty

 private:
  struct Json;
  std::unique_ptr<const Json> json_;
};

/// What may help where a step spends time, and whether it can in a job: not what is on already, and
/// nothing over groups of one rank. Of a job that is not known everything can.
struct Advice {
  std::string_view text;
  bool (*can_help)(const JobSettings& job);
};

/// The advice that can help, between commas, and a full stop; `otherwise` where none can.
std::string advice_for_job(std::span<const Advice> all, const JobSettings& job,
                           std::string_view otherwise);

}  // namespace ergometer::analysis
