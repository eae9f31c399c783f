#pragma once

#include "base/result.h"
#include "launch/framework.h"
#include "spec/job/job.h"

namespace ergometer::launch {

/// What no framework's script brings about; `launch` refuses it before anything else.
Result<void> check_launchable(const spec::Job& job);

/// That `launch` writes what a framework then runs as it is predicted: it neither refuses the job
/// nor notes that the framework lays it out otherwise. The model is not looked at.
Result<void> check_layout(Framework framework, const spec::Job& job);
/// That a framework can be told the model.
Result<void> check_model(Framework framework, const spec::Model& model);

}  // namespace ergometer::launch
