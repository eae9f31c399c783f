#include "watch/rule_file.h"

#include <sys/stat.h>

#include <utility>

#include "watch/actions.h"

namespace ergometer::watch {

RuleFile::Stamp RuleFile::stamp_of(const std::string& path) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) return {};
  return {about.st_mtim.tv_sec * kNsPerSecond + about.st_mtim.tv_nsec, about.st_size,
          static_cast<int64_t>(about.st_ino)};
}

Result<void> RuleFile::read() {
  stamp_ = stamp_of(path_);
  ERGOMETER_ASSIGN(std::vector<Rule> rules, read_rules(path_));
  ERGOMETER_TRY(check_secrets(rules));
  rules_ = std::move(rules);
  return {};
}

Result<RuleFile> RuleFile::open(const std::string& path) {
  RuleFile file(path);
  ERGOMETER_TRY(file.read());
  return file;
}

bool RuleFile::look(bool asked) {
  if (!asked && stamp_of(path_) == stamp_) return false;
  const auto done = read();
  problem_ = done ? std::string() : done.error().message;
  return true;
}

}  // namespace ergometer::watch
