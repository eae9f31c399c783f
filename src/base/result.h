#pragma once

#include <fmt/core.h>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ergometer::base {

/// Whose fault it is; the value is the process's exit status.
enum class ErrorKind {
  kNo = 1,       ///< the answer is no: does not fit in memory, error above the limit asked for
  kInput = 2,    ///< the user's input is wrong
  kMissing = 3,  ///< this machine lacks something: a GPU, a permission, a server
};

/// What went wrong, as one sentence for the user:
/// `job.yaml:14: parallelism.tp = 3 does not divide 64 attention heads; try 1, 2, 4, 8, 16, 32 or
/// 64`.
struct Error {
  ErrorKind kind = ErrorKind::kInput;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> input_error(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::kInput, std::move(message)});
}

inline tl::unexpected<Error> missing_error(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::kMissing, std::move(message)});
}

/// `input_error("{}: no such file", path)`
template <class... Parts>
  requires(sizeof...(Parts) > 0)
tl::unexpected<Error> input_error(fmt::format_string<Parts...> form, Parts&&... parts) {
  return input_error(fmt::format(form, std::forward<Parts>(parts)...));
}

template <class... Parts>
  requires(sizeof...(Parts) > 0)
tl::unexpected<Error> missing_error(fmt::format_string<Parts...> form, Parts&&... parts) {
  return missing_error(fmt::format(form, std::forward<Parts>(parts)...));
}

}  // namespace ergometer::base

namespace ergometer {

// Said in every room, they are words of the whole program: the one exception to no `using` in
// headers.
using base::input_error;
using base::missing_error;
using base::Result;

}  // namespace ergometer

#define ERGOMETER_CONCAT_INNER(a, b) a##b
#define ERGOMETER_CONCAT(a, b) ERGOMETER_CONCAT_INNER(a, b)

/// Returns the error of a `Result` to the caller, or goes on.
#define ERGOMETER_TRY(expression)                              \
  if (auto ERGOMETER_CONCAT(result_, __LINE__) = (expression); \
      !ERGOMETER_CONCAT(result_, __LINE__))                    \
  return tl::unexpected(std::move(ERGOMETER_CONCAT(result_, __LINE__)).error())

/// `ERGOMETER_ASSIGN(auto model, read_model(path));` declares `model`, or returns the error to the
/// caller.
#define ERGOMETER_ASSIGN(declaration, expression)                                  \
  auto ERGOMETER_CONCAT(result_, __LINE__) = (expression);                         \
  if (!ERGOMETER_CONCAT(result_, __LINE__))                                        \
    return tl::unexpected(std::move(ERGOMETER_CONCAT(result_, __LINE__)).error()); \
  declaration = *std::move(ERGOMETER_CONCAT(result_, __LINE__))
