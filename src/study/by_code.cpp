#include "study/by_code.h"

#include <span>

namespace ergometer::study {
namespace {

/// A row for every study that is more than its file.
constexpr std::span<const StudyCode> kCodes;

}  // namespace

const StudyCode* code_of(std::string_view study) {
  for (const StudyCode& code : kCodes)
    if (code.name == study) return &code;
  return nullptr;
}

}  // namespace ergometer::study
