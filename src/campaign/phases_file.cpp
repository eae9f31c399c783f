#include "campaign/phases_file.h"

#include <fmt/format.h>

#include <array>

#include "spec/job/measure_range.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::campaign {

Result<double> parse_tokens(std::string_view text) {
  constexpr std::string_view kWord = "tokens";
  constexpr double kMostTokens = 1e18;
  if (text.ends_with(kWord)) text.remove_suffix(kWord.size());
  while (text.ends_with(' ')) text.remove_suffix(1);
  // Nobody trains on a part of a token; a billion is "1G" or "1B".
  std::string plain(text);
  if (plain.ends_with('B')) plain.back() = 'G';
  return spec::MeasureRange{"", 1, kMostTokens}.read(plain);
}

Result<std::vector<Phase>> parse_phases(const std::string& text, const std::string& file) {
  constexpr std::array<std::string_view, 2> kOwn = {"name", "tokens"};
  ERGOMETER_ASSIGN(spec::YamlMap top, spec::YamlMap::parse(text, file));
  top.allow({"run"});
  top.require("run");
  std::vector<Phase> phases;
  for (spec::YamlMap& map : top.maps("run")) {
    map.require("tokens");
    const std::string written = map.text("tokens");
    const auto tokens = parse_tokens(written);
    if (!tokens) map.refuse("tokens", tokens.error().message);
    Phase phase;
    phase.name = map.text("name", fmt::format("phase {}", phases.size() + 1));
    phase.tokens = tokens.value_or(0);
    phase.settings = spec::read_settings(map, file, kOwn);
    for (const char* name : {"model", "cluster", "gpus"})
      if (phase.settings.find(name) != nullptr)
        map.refuse(name, "is the same in every phase; say it outside");
    phases.push_back(std::move(phase));
  }
  if (top.error()) return tl::unexpected(*top.error());
  if (phases.empty()) return input_error("{}: run holds no phase", file);
  return phases;
}

}  // namespace ergometer::campaign
