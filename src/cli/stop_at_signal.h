#pragma once

#include <atomic>

namespace ergometer::cli {

inline constexpr int kInterrupted = 130;  ///< what a shell says of Ctrl-C

/// While it lives, Ctrl-C and a polite kill are a wish to stop that the command asks for, and not
/// the end of the process. One at a time.
class StopAtSignal {
 public:
  StopAtSignal();
  ~StopAtSignal();
  StopAtSignal(const StopAtSignal&) = delete;
  StopAtSignal& operator=(const StopAtSignal&) = delete;

  static const std::atomic<bool>& asked();

 private:
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

}  // namespace ergometer::cli
