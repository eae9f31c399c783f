#include "spec/job/overrides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/job/measure_range.h"
#include "spec/job/named_numbers.h"

namespace ergometer::spec {
namespace {

struct Word {
  std::string_view text;
  OverrideKind kind;
  bool of_node;        ///< not of a single GPU
  MeasureRange range;  ///< the job's GPU may allow less
};
constexpr std::array kOverrideWords = std::to_array<Word>({
    {"power_cap", OverrideKind::kPowerCap, false, {"W", 10, 5000}},
    {"lock_clock", OverrideKind::kLockClock, false, {"MHz", 1e7, 1e10}},
    {"speed", OverrideKind::kSpeed, false, {"", 0.01, 1}},
    {"power_brake", OverrideKind::kPowerBrake, false, {"", 0, 1}},
    {"inlet", OverrideKind::kInlet, true, {"C", -20, 80}},
    {"fan", OverrideKind::kFan, true, {"%", 0.01, 1}},
    {"blocked_inlet", OverrideKind::kBlockedInlet, true, {"%", 0, 0.95}},
    {"resistance", OverrideKind::kResistance, false, {"", 0.1, 10}},
    {"leakage", OverrideKind::kLeakage, false, {"", 0, 10}},
    {"link", OverrideKind::kLink, false, {"", 0.01, 1}},
    {"nic", OverrideKind::kNic, false, {"", 0.01, 1}},
});

std::vector<std::string_view> known_words() { return base::mapped(kOverrideWords, &Word::text); }

/// Takes "node3." off the front of `text` and returns 3; -1 when `text` begins otherwise.
int64_t take_index(std::string_view& text, std::string_view what) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || !text.starts_with(what)) return -1;
  const auto index = base::parse_integer(text.substr(what.size(), dot - what.size()));
  if (!index || *index < 0) return -1;
  text.remove_prefix(dot + 1);
  return *index;
}

Result<double> read_brake(std::string_view value) {
  if (value == "on") return 1;
  if (value == "off") return 0;
  return input_error("found \"{}\"; allowed: on, off", value);
}

Result<const Word*> find_word(std::string_view text) {
  for (const Word& word : kOverrideWords)
    if (word.text == text) return &word;
  const std::vector<std::string_view> words = known_words();
  // Whatever stands before the last dot was no node and no GPU.
  if (const size_t dot = text.rfind('.'); dot != std::string_view::npos)
    return input_error("{} is neither a node nor a GPU; the form is node3.gpu5.{} or node3.{}",
                       text.substr(0, dot), kOverrideWords.front().text, "inlet");
  return input_error("{} is not known{}; it is one of {}", text, base::did_you_mean(text, words),
                     fmt::join(words, ", "));
}

Result<Override> parse_parts(std::string_view text) {
  const size_t equal = text.find('=');
  if (equal == std::string_view::npos)
    return input_error("lacks a value; the form is node3.gpu5.power_cap=400W");
  std::string_view target = text.substr(0, equal);
  const std::string_view value = text.substr(equal + 1);
  Override result;
  result.text = text;
  result.node = take_index(target, "node");
  result.gpu = take_index(target, "gpu");
  ERGOMETER_ASSIGN(const Word* word, find_word(target));
  result.kind = word->kind;
  if (word->of_node && result.gpu >= 0)
    return input_error("{} belongs to a whole node, not to one GPU", word->text);
  ERGOMETER_ASSIGN(result.value, word->kind == OverrideKind::kPowerBrake ? read_brake(value)
                                                                         : word->range.read(value));
  return result;
}

constexpr std::array kSmoothing = std::to_array<NamedNumber<Conditions>>({
    {"floor", {"", 0.01, 1}, &Conditions::smoothing_floor},
    {"up", {"W/s", 0.1, 1e6}, &Conditions::smoothing_up_w_per_s},
    {"down", {"W/s", 0.1, 1e6}, &Conditions::smoothing_down_w_per_s},
    {"hysteresis", {"s", 0, 3600}, &Conditions::smoothing_hysteresis_s},
});

}  // namespace

bool is_of_rank(const Override& one, const Job& job, int64_t rank) {
  const int64_t gpu = job.parallelism.gpu_of(rank), per_node = job.cluster.node.gpus;
  return one.is_of(gpu / per_node, gpu % per_node);
}

std::string_view to_word(OverrideKind kind) {
  for (const Word& word : kOverrideWords)
    if (word.kind == kind) return word.text;
  ERGOMETER_CHECK(false, "an override without a word");
  return {};
}

Result<Override> parse_override(std::string_view text) {
  auto result = parse_parts(text);
  if (result) return result;
  return input_error("\"{}\": {}", text.substr(0, 80), result.error().message);
}

Result<void> parse_power_smoothing(std::string_view text, Conditions& conditions) {
  ERGOMETER_TRY(
      read_named(text, kSmoothing, "floor=0.8,up=50kW/s,down=50W/s,hysteresis=2s", conditions));
  if (conditions.smoothing_floor == 0) return input_error("lacks a floor, such as floor=0.8");
  if (conditions.smoothing_down_w_per_s == 0 && conditions.smoothing_hysteresis_s == 0)
    return input_error(
        "a floor {} changes nothing, for it is let go of at once; add hysteresis=2s or "
        "down=50W/s, such as floor=0.8,hysteresis=2s",
        conditions.smoothing_up_w_per_s == 0 ? "alone" : "with nothing but up");
  return {};
}

}  // namespace ergometer::spec
