#pragma once

#include <string_view>

#include "run/run.h"

namespace ergometer::run {

/// What tables, the page and messages call it.
constexpr std::string_view fit_words(FitState state) {
  switch (state) {
    case FitState::kFits: return "fits";
    case FitState::kAtRisk: return "at risk";
    case FitState::kDoesNotFit: break;
  }
  return "does not fit";
}

}  // namespace ergometer::run
