#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/exported_names.h"

namespace ergometer::record {

/// What tells a device's samples from those of others: ("gpu", "0"), ("host", "node1"). None is
/// empty.
using DeviceLabels = std::vector<std::pair<std::string_view, std::string>>;
DeviceLabels own_labels(const run::Device& device);
/// The index that a driver or a log gives a device, else its rank; empty: neither.
std::string index_of(const run::Device& device);

/// The DCGM exporter's name of a GPU's metric; null where it has none, or none that counts the
/// same.
const run::ExportedName* dcgm_name(run::Metric metric);

}  // namespace ergometer::record
