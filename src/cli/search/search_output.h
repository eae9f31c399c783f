#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "launch/framework.h"
#include "report/summary/summary_text.h"
#include "search/space/why_none.h"
#include "search/what_if.h"

namespace ergometer::cli {

/// The layout that a job file has: a search decides anew, and compares.
struct OwnLayout {
  std::optional<search::Played> played;
  std::string refused;  ///< why it cannot be played
};

/// What the two outputs show.
struct SearchAnswer {
  const search::Space& space;
  const search::SearchOptions& options;
  const search::SearchResult& result;
  search::Knobs knobs;                  ///< around the best; empty: there is none
  std::vector<search::WhatIf> what_if;  ///< around the best
  std::optional<OwnLayout> own;
  std::optional<search::WhyNone> none;                         ///< where nothing fits
  launch::Framework framework = launch::Framework::kMegatron;  ///< whose settings the text ends in
};

/// Steps that a configuration for trying a layout asks for.
constexpr int64_t kTrialSteps = 50;

/// Why a search has no layout to try.
std::string no_layout_text(const search::WhyNone& none);
std::string search_text(const SearchAnswer& answer, const report::TextStyle& style);
std::string search_json(const SearchAnswer& answer);
/// What the engine says of a layout: members of the object that is open.
void write_numbers(base::JsonWriter& json, const run::Run& run);

}  // namespace ergometer::cli
