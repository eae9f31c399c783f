#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ergometer::spec {

/// Tells whether two pieces of work are the same: 16 hexadecimal digits that differ when anything
/// differs that was added. FNV-1a, 64 bit: against mistakes, not against forgery.
class Fingerprint {
 public:
  void add(std::string_view text);
  /// A setting that names a file means what the file says.
  void add_setting(std::string_view name, const std::string& text);
  /// The program's version and its catalog, studies apart: what predictions depend on.
  void add_program();
  std::string hex() const;

 private:
  void mix(uint64_t byte) { state_ = (state_ ^ byte) * 0x100000001b3; }
  uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace ergometer::spec
