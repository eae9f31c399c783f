#pragma once

#include <atomic>

namespace ergometer::cli {

/// While it lives, Ctrl-C and a polite kill are a wish to stop that the command asks for, and not
/// the end of the process. One at a time; where another program calls, signals stay its own.
class StopAtSignal {
 public:
  explicit StopAtSignal(bool hosted = false);
  ~StopAtSignal();
  StopAtSignal(const StopAtSignal&) = delete;
  StopAtSignal& operator=(const StopAtSignal&) = delete;

  static const std::atomic<bool>& asked();
  /// What a shell says of a program that the last signal ended: 130 after Ctrl-C, 143 after a kill.
  static int status();

 private:
  bool hosted_;
  void (*interrupt_)(int) = nullptr;
  void (*terminate_)(int) = nullptr;
};

}  // namespace ergometer::cli
