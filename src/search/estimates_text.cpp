#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "search/estimates.h"
#include "search/worker.h"

// A line: six counts, the candidates kept with 15 numbers each, the nearest miss, and why something
// was not priced.
// A candidate's layout follows from its number. Doubles are written so that they read back the
// same.
namespace ergometer::search {
namespace {

/// Reads numbers with a space behind each. Once one is not there, nothing more is read.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}

  template <class T>
  T next() {
    T value{};
    const char *const begin = text_.data(), *const end = begin + text_.size();
    const auto [at, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || at == end || *at != ' ') {
      fail();
      return {};
    }
    text_.remove_prefix(static_cast<size_t>(at - begin) + 1);
    return value;
  }
  int64_t below(int64_t limit) {
    const auto value = next<int64_t>();
    if (value < 0 || value >= limit) fail();
    return ok_ ? value : 0;
  }
  bool boolean() { return below(2) == 1; }
  double finite() {
    const auto value = next<double>();
    if (!std::isfinite(value)) fail();
    return value;
  }
  bool ok() const { return ok_; }
  std::string_view rest() const { return text_; }

 private:
  void fail() {
    ok_ = false;
    text_ = {};
  }
  std::string_view text_;
  bool ok_ = true;
};

// Structured bindings: a field that is added and not written here does not compile.

void write(std::string& text, const Candidate& candidate, int64_t number) {
  const auto& [layout, recomputation, overlap, data, unlike] = candidate;
  const auto& [choice, depth] = recomputation;
  const auto& [tensor, pipeline, expert, shared_expert] = overlap;
  const auto& [sharding, gradients, parameters] = data;
  static_cast<void>(layout);
  text += fmt::format("{} {} {} {:d} {:d} {:d} {:d} {} {:d} {:d} ", number, choice, depth, tensor,
                      pipeline, expert, shared_expert, static_cast<int>(sharding), gradients,
                      parameters);
}

void write(std::string& text, const Found& found) {
  const auto& [candidate, estimate, gpus, number] = found;
  const auto& [step_s, energy_j, gpu_w, max_gpu_c, memory_bytes] = estimate;
  static_cast<void>(gpus);
  write(text, candidate, number);
  text += fmt::format("{} {} {} {} {} ", step_s, energy_j, gpu_w, max_gpu_c, memory_bytes);
}

void write(std::string& text, const std::optional<NearestMiss>& nearest) {
  text += nearest ? "1 " : "0 ";
  if (!nearest) return;
  const auto& [candidate, needed, capacity, number] = *nearest;
  write(text, candidate, number);
  text += fmt::format("{} {} ", needed, capacity);
}

int64_t read(const Space& space, const std::vector<Layout>& layouts, Numbers& numbers,
             Candidate& candidate) {
  const int64_t number = numbers.below(static_cast<int64_t>(layouts.size()) * kOptionsOfALayout);
  auto& [layout, recomputation, overlap, data, unlike] = candidate;
  const auto choices = static_cast<int64_t>(space.recomputations().size());
  constexpr int64_t kDeepest = 1 << 20;
  recomputation.choice = static_cast<int32_t>(numbers.below(choices));
  recomputation.depth = static_cast<int32_t>(numbers.below(kDeepest));
  for (bool* one : {&overlap.tensor, &overlap.pipeline, &overlap.expert, &overlap.shared_expert})
    *one = numbers.boolean();
  data.sharding = static_cast<Sharding>(numbers.below(static_cast<int64_t>(kShardings)));
  data.overlap_gradients = numbers.boolean();
  data.overlap_parameters = numbers.boolean();
  if (numbers.ok()) layout = layouts[static_cast<size_t>(number / kOptionsOfALayout)];
  return number;
}

Found read(const Space& space, const std::vector<Layout>& layouts, Numbers& numbers) {
  Found found;
  found.number = read(space, layouts, numbers, found.candidate);
  auto& [step_s, energy_j, gpu_w, max_gpu_c, memory_bytes] = found.estimate;
  for (double* one : {&step_s, &energy_j, &gpu_w, &max_gpu_c, &memory_bytes})
    *one = numbers.finite();
  if (numbers.ok()) found.gpus = space.base_of(found.candidate.layout).megatron.gpus;
  return found;
}

std::optional<NearestMiss> read_nearest(const Space& space, const std::vector<Layout>& layouts,
                                        Numbers& numbers) {
  if (!numbers.boolean()) return {};
  NearestMiss nearest;
  nearest.number = read(space, layouts, numbers, nearest.candidate);
  nearest.needed = numbers.finite();
  nearest.capacity = numbers.finite();
  return nearest;
}

}  // namespace

// The fifth number of a line is one that nothing reads; version 1 of the file has it.
std::string to_text(const Estimates& estimates, bool exact) {
  std::string text =
      fmt::format("{} {} {} {} 0 {} ", estimates.layouts, estimates.candidates, estimates.feasible,
                  exact ? 0 : estimates.estimated, estimates.kept.size());
  for (const Found& found : estimates.kept) write(text, found);
  write(text, estimates.nearest);
  for (const char c : estimates.unpriced) text += c == '\n' ? ' ' : c;
  return text;
}

std::optional<Estimates> parse_estimates(const Space& space, const std::vector<Layout>& layouts,
                                         std::string_view text) {
  constexpr int64_t kMany = int64_t{1} << 60;
  Numbers numbers(text);
  Estimates estimates;
  estimates.layouts = numbers.below(kMany);
  estimates.candidates = numbers.below(kMany);
  estimates.feasible = numbers.below(kMany);
  estimates.estimated = numbers.below(kMany);
  numbers.finite();
  const int64_t kept = numbers.below(kMany);
  for (int64_t i = 0; i < kept && numbers.ok(); ++i)
    estimates.kept.push_back(read(space, layouts, numbers));
  estimates.nearest = read_nearest(space, layouts, numbers);
  if (!numbers.ok()) return std::nullopt;
  estimates.unpriced = numbers.rest();
  return estimates;
}

}  // namespace ergometer::search
