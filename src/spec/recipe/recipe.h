#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parameter.h"
#include "base/result.h"
#include "spec/recipe/recipe_condition.h"
#include "spec/recipe/recipe_draft.h"
#include "spec/recipe/software.h"

namespace ergometer::spec {

/// What a framework, its launcher or its published configurations set where nobody says anything:
/// a file of catalog/recipes.
struct Recipe {
  /// A software profile (catalog/software) and the jobs that it stands for.
  struct Profile {
    RecipeCondition when;
    std::string name;
  };
  /// Lines of one condition, or the place of what no line can say.
  struct Rule {
    RecipeCondition when;
    bool workloads = false;        ///< the table of published configurations is asked
    bool split_sequences = false;  ///< with fewer sequences than replicas, ranks share sequences
    std::vector<std::pair<std::string, std::string>> settings;
    std::string source;
    base::Grade grade = base::Grade::kAssumed;
  };
  std::string name;
  std::string title;    ///< "NVIDIA's NeMo and Megatron-Bridge recipes"
  std::string release;  ///< assumed where none is named; empty: releases make no difference
  std::vector<Profile> profiles;
  std::vector<Rule> rules;
};

Result<Recipe> parse_recipe(std::string_view yaml, const std::string& file);

/// Which recipe a job follows, and who chose it.
struct RecipeChoice {
  std::shared_ptr<const Recipe> recipe;  ///< null: none; the profile is a file of the user's
  std::string profile;  ///< name or path of the software profile; empty: the recipe has one
  std::string release;  ///< "25.07"; empty: none is named, and the recipe assumes none
  std::string source;   ///< "given", "file" (the input's framework) or "inferred"
};

/// Whether `software` is a profile in a file, not the name of a recipe or a profile.
bool is_software_file(std::string_view words);

/// A recipe by what users call it: "nemo-25.07", "NeMo 25.07", "Megatron-Bridge 26.02", "MLPerf
/// v5.1", "torchtitan", or a software profile: its name in the catalog or a file. The error names
/// what is spelled most like the words.
Result<RecipeChoice> find_recipe(std::string_view words);

/// The recipe of the draft's job: what `software` names; else what the job itself suggests, by the
/// first line of catalog/tables/inferred_recipes.csv that holds.
Result<RecipeChoice> choose_recipe(const Settings& said, const RecipeDraft& draft);

/// The origin of a `software` that is not the user's word but the framework of the file they gave.
inline constexpr std::string_view kFrameworkOf = "the framework of ";
/// Names the recipe of an input file's framework, unless the file names one.
void set_framework(Settings& settings, const char* recipe, const std::string& file);

/// "nemo 25.07": what messages and the summary call it; of no recipe the profile's name.
std::string name_of(const RecipeChoice& choice);

/// What a job's software sets: its profile, and every default that follows from profile and recipe
/// and that the rest of the job allows.
struct SoftwareDefaults {
  RecipeChoice choice;
  SoftwareProfile profile;
  Settings settings;
};
Result<SoftwareDefaults> software_defaults(const Settings& said, const JobParts& parts);

/// The lines of catalog/tables/recipe_workloads.csv for the draft's model, task, GPU and number
/// format: the nearest release, then the nearest layout. Fills nothing if there is none.
void fill_from_workloads(std::string_view recipe, RecipeDraft& draft);
}  // namespace ergometer::spec
