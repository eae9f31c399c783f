#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "watch/rules.h"

namespace ergometer::watch {

/// Does what alerts ask for, one after the other, on a thread of its own: whoever reads sensors
/// waits for none of it. An action has ten seconds; of those that wait 256 are kept, the latest.
class Actions {
 public:
  static constexpr size_t kMostWaiting = 256;
  static constexpr int kMostSeconds = 10;
  using Say = std::function<void(const std::string&)>;

  /// `say` hears, from that thread, what failed.
  explicit Actions(Say say);
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions();  ///< after the one that is being done; what waits is left undone

  /// At once. `json`: the alert, one line.
  void put(const Action& action, std::string json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Does one, at most for `most_s` seconds: posts the alert, starts the command with it on standard
/// input, or adds it to the file. An error says what failed, and no secret.
Result<void> perform(const Action& action, const std::string& json,
                     int most_s = Actions::kMostSeconds);

/// Input errors: files of secrets that cannot be read, or that others may read.
Result<void> check_secrets(const std::vector<Rule>& rules);

}  // namespace ergometer::watch
