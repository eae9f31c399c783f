#include "study/by_code.h"

#include <array>

#include "study/charllm/as_measured.h"
#include "study/charllm/charllm.h"

namespace ergometer::study {
namespace {

/// A row for every study that is more than its file.
constexpr std::array kCodes = {
    StudyCode{"charllm", charllm_points, charllm_figures, charllm_findings},
    StudyCode{"charllm-as-measured", as_measured_points, nullptr, as_measured_findings}};

}  // namespace

const StudyCode* code_of(std::string_view study) {
  for (const StudyCode& code : kCodes)
    if (code.name == study) return &code;
  return nullptr;
}

}  // namespace ergometer::study
