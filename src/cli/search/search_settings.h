#pragma once

#include "base/result.h"
#include "cli/console/command.h"
#include "spec/settings/settings.h"

namespace ergometer::cli {

/// What a search is told of the job.
struct SearchSettings {
  spec::Settings given;  ///< what stays as it is
  /// The layout of the job file, where MODEL is one: what the search decides anew.
  spec::Settings layout;
};

/// MODEL is a model, or files that `intake` reads. What these say of the layout (what a search
/// decides, and what fits one layout alone) is no more than something to compare with; all else
/// they say holds, and options override it.
Result<SearchSettings> search_settings(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
