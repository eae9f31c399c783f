#pragma once

#include "study/file/definition.h"

namespace ergometer::study {

/// Lays `over` over what `change` says already.
void add(Change& change, const Change& over);
/// The settings with the change: numbers of the cluster become a cluster that extends the one that
/// the settings then name.
void apply(const Change& change, spec::Settings& settings);

}  // namespace ergometer::study
