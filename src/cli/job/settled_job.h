#pragma once

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::cli {

/// A job that other settings may be laid over: without files, and where it gives micro batches of a
/// replica, which mean another batch on other GPUs, with the batch that they come to.
Result<spec::Settings> settled_job(const spec::Settings& settings);

}  // namespace ergometer::cli
