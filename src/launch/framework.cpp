#include "launch/framework.h"

#include <fmt/format.h>

#include "spec/recipe/recipe.h"

namespace ergometer::launch {
namespace {

const char* recipe_of(Framework framework) {
  switch (framework) {
    case Framework::kMegatron: return "megatron-lm";
    case Framework::kNemo: return "nemo-1";  // whose YAML is written
    case Framework::kTorchtitan: return "torchtitan";
  }
  return "";
}

}  // namespace

void settle_software(Framework framework, std::string_view option, spec::Settings& settings) {
  if (const auto* const said = settings.find("software")) {
    // A file of the framework may tell more: torchtitan without its compiler, a release of NeMo.
    const bool by_a_file = said->origin.text.starts_with(spec::kFrameworkOf);
    if (!by_a_file || said->text.starts_with(to_word(framework))) return;
  }
  settings.set("software", recipe_of(framework),
               {fmt::format("{}{}", spec::kFrameworkOf, option), ""});
}

}  // namespace ergometer::launch
