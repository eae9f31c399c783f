#pragma once

#include <vector>

#include "spec/job/job.h"

namespace ergometer::spec {

/// What the links of a job's network join, the topology's dimensions; of an optical network those
/// that its circuits make for the job. A job of whole nodes a stage, of several nodes each, has
/// rings within stages ("ring") by the larger half of a node's links and rings from stage to stage
/// ("stage") by the other; any other job, and one of a single link a node, rings through all its
/// nodes ("circuit").
std::vector<Dimension> dimensions_of(const Fabric& fabric, int64_t nodes, int64_t stages);
std::vector<Dimension> dimensions_of(const Job& job);

}  // namespace ergometer::spec
