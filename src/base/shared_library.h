#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace ergometer::base {

/// A library that is opened at run time, so that the program runs where it is missing.
class SharedLibrary {
 public:
  /// The first of `names` that opens. An error of kind kMissing names them and says `hint`.
  static Result<SharedLibrary> open(const std::vector<std::string>& names, const char* hint);

  /// Sets `function` to the symbol; an error of kind kMissing when the library lacks it.
  template <class Function>
  Result<void> find(const char* symbol, Function*& function) const {
    ERGOMETER_ASSIGN(void* const found, address(symbol));
    function = reinterpret_cast<Function*>(found);
    return {};
  }
  /// The same, null where it is missing: newer drivers have more.
  template <class Function>
  void find_if_there(const char* symbol, Function*& function) const {
    const auto found = address(symbol);
    function = found ? reinterpret_cast<Function*>(*found) : nullptr;
  }

 private:
  Result<void*> address(const char* symbol) const;

  std::string name_;
  std::shared_ptr<void> handle_;
};

}  // namespace ergometer::base
