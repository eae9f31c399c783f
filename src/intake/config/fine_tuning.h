#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// Frameworks that train under a dozen words of their own: OpenRLHF's and verl's fine-tuning,
/// LitGPT, NeMo AutoModel, llama-recipes (now llama-cookbook), ColossalAI's programs. One table
/// says which setting a word is, and what holds where nobody says it.

/// The framework of a program of theirs, empty for all others: "openrlhf.cli.train_sft" is
/// "OpenRLHF". `foreign`: the framework that its launcher or module names.
std::string_view fine_tuning_framework(std::string_view foreign, std::string_view program);

/// Whether a word makes another job; "data.max_length", dashes as underscores.
bool fine_tuning_reads(std::string_view word);
/// Whether it stands without a value.
bool fine_tuning_switch(std::string_view word);

/// A job from a framework's words by path. `command`: what is done ("finetune_lora"), as LitGPT's
/// defaults depend on it; empty where only one thing can be.
Result<Reading> read_fine_tuning(std::string_view framework, const spec::FlatYaml& words,
                                 const std::string& file, std::string_view command = "");

/// LitGPT's and NeMo AutoModel's YAML. `overrides` are words of the command line.
Result<Reading> parse_fine_tuning(std::string_view framework, const std::string& text,
                                  const std::string& file, const spec::FlatYaml& overrides = {},
                                  std::string_view command = "");

}  // namespace ergometer::intake
