#pragma once

#include <string>

#include "swarm/swarm.h"

namespace ergometer::report {

/// What `ergometer swarm` answers: throughput, where peers' time goes by stage and by kind, what it
/// costs, and which widths of a model pay on their lines.
std::string swarm_text(const swarm::Swarm& of);
std::string swarm_json(const swarm::Swarm& of);

}  // namespace ergometer::report
