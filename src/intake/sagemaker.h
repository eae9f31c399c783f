#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// A program that starts a training job of SageMaker.
bool calls_sagemaker(const std::string& text);
/// The job of its estimator, `PyTorch(entry_point=..., instance_type=..., instance_count=...,
/// hyperparameters={...}, distribution={...})`, or of its ModelTrainer: the script started with
/// the hyperparameters as words, on the GPUs of the instances.
Result<Reading> parse_sagemaker(const std::string& text, const std::string& file,
                                const ScriptContext& context);

}  // namespace ergometer::intake
