#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/otlp/otlp_steps.h"
#include "import/telemetry/step_lines.h"
#include "run/device_log.h"

namespace ergometer::record {

/// The output that a training program writes into a file, followed as it grows: lines for people,
/// or documents of OTLP, one a line, as OpenTelemetry's collector writes them. What the file held
/// before is of another job. A file that is not there yet is waited for; one that is cut off, or
/// that another takes the place of, is read from its start.
class StepLog {
 public:
  static constexpr size_t kMostLine = 16384;          ///< bytes; what is longer tells of no step
  static constexpr size_t kMostDocument = 4U << 20U;  ///< bytes of a line of OTLP
  static constexpr size_t kMostAtOnce = 4U << 20U;    ///< bytes that one call reads

  explicit StepLog(std::string path);
  StepLog(StepLog&& other) noexcept;
  StepLog& operator=(StepLog&&) = delete;
  ~StepLog();

  const std::string& path() const { return path_; }
  /// Adds the steps that the file tells of since the last call. It does not wait for more, and
  /// reads regular files alone.
  void read(std::vector<run::TrainingStep>& steps);

 private:
  bool open_file();
  void close_file();
  void start_anew();
  bool read_some(std::vector<run::TrainingStep>& steps);
  bool is_another_file() const;
  void take(std::string_view bytes, int64_t now_ns, std::vector<run::TrainingStep>& steps);
  void add_otlp(const std::string& line, int64_t now_ns, std::vector<run::TrainingStep>& steps);
  void end_line(int64_t now_ns, std::vector<run::TrainingStep>& steps);

  std::string path_;
  int file_ = -1;
  dev_t device_ = 0;
  ino_t number_ = 0;
  int64_t offset_ = 0;
  std::string line_;       ///< its beginning, while the rest is not there
  bool too_long_ = false;  ///< that line
  importer::StepReader reader_;
  importer::OtlpSteps otlp_;
};

/// When a step ended: what its line says, moved by whole quarter hours to where a clock stands that
/// shows `now_ns`, for programs print local time without a zone; `now_ns` itself where the line
/// says nothing, or a time that is more than a minute off.
int64_t step_end(int64_t stamp_ns, int64_t now_ns);

}  // namespace ergometer::record
