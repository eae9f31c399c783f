#pragma once

#include <string>
#include <string_view>

namespace ergometer::intake {

/// What a file is, by what stands in it.
enum class FileForm {
  kNone,
  kModelConfig,  ///< a model's config.json
  kJobFile,
  kDeepSpeed,
  kTrainer,
  kTrainerPython,
  kRecipePython,  ///< of NeMo 2 or Megatron-Bridge
  kLightning,
  kLightningPython,
  kAxolotl,
  kAccelerate,
  kPeft,
  kTorchtitan,
  kNemo1,
  kNemo2,
  kMegatronBridge,
  kPrimus,
  kMegatronYaml,
  kNanotron,
  kNeox,
  kTorchtune,
  kFoundry,
  kAutoModel,
  kVerl,  ///< its fine-tuning
  kLitGpt,
  kNanoGpt,        ///< its train.py
  kNanoGptConfig,  ///< a file of assignments that it takes
  kOlmo,
  kOlmoCore,
  kMaxText,
  kXtuner,
  kInternEvo,
  kSageMaker,
  kKubernetes,
  kRunFile,           ///< machines and what they run: SkyPilot, mcli
  kForeign,           ///< known, and not read
  kMegatronArguments  ///< a shell script, a list of arguments, or MODEL_ARGS in YAML
};
FileForm form_of(const std::string& text, const std::string& file);
/// What a file of kForeign is, and what to do instead.
std::string what_foreign(const std::string& text, const std::string& file);

/// Whether settings of a job file may stand under this key.
bool is_job_heading(std::string_view key);

}  // namespace ergometer::intake
