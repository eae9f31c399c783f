#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "watch/rules.h"

namespace ergometer::watch {

/// A rules file that is read again when it changes. While what it says cannot be used, the rules
/// from before hold.
class RuleFile {
 public:
  /// Errors as `read_rules` and `check_secrets` have them.
  static Result<RuleFile> open(const std::string& path);

  const std::vector<Rule>& rules() const { return rules_; }
  /// Why the file as it is now is not used; empty: it is.
  const std::string& problem() const { return problem_; }
  /// Looks whether the file changed; reads it also where that was asked for. False: all is as
  /// before.
  bool look(bool asked);

 private:
  struct Stamp {
    int64_t time_ns = 0, size = -1, number = 0;
    bool operator==(const Stamp&) const = default;
  };
  explicit RuleFile(std::string path) : path_(std::move(path)) {}
  static Stamp stamp_of(const std::string& path);
  Result<void> read();

  std::string path_, problem_;
  Stamp stamp_;
  std::vector<Rule> rules_;
};

}  // namespace ergometer::watch
