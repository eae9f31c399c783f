#include "spec/collective/given_algorithms.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/file.h"
#include "spec/collective/check_algorithm.h"
#include "spec/collective/read_msccl.h"

namespace ergometer::spec {
namespace {

constexpr size_t kMostGiven = 64;

/// Algorithms by their text: read and checked once, however many jobs and copies of a cluster there
/// are. Safe from many threads.
class AlgorithmShelf {
 public:
  /// The algorithm's number.
  Result<size_t> put(std::string_view xml, const std::string& file) {
    const std::lock_guard lock(mutex_);
    if (const auto known = numbers_.find(xml); known != numbers_.end()) return known->second;
    ERGOMETER_ASSIGN(Algorithm algorithm, parse_msccl(xml, file));
    ERGOMETER_TRY(check_algorithm(algorithm));
    algorithms_.push_back(std::make_shared<const Algorithm>(std::move(algorithm)));
    return numbers_[std::string(xml)] = algorithms_.size() - 1;
  }
  std::shared_ptr<const Algorithm> at(size_t number) {
    const std::lock_guard lock(mutex_);
    return algorithms_.at(number);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, size_t, std::less<>> numbers_;
  std::vector<std::shared_ptr<const Algorithm>> algorithms_;
};

AlgorithmShelf& shelf() {
  static AlgorithmShelf all;
  return all;
}

std::string entry_name(size_t index) { return fmt::format("{}.{:02}", kGivenAlgorithms, index); }

void forget_algorithms(base::ParameterSet& parameters) {
  base::ParameterSet others;
  for (const auto& [name, parameter] : parameters.all())
    if (!name.starts_with(kGivenAlgorithms)) others.set(name, parameter);
  parameters = std::move(others);
}

Result<void> give_file(const std::string& word, const YamlMap& map,
                       base::ParameterSet& parameters) {
  if (is_inline_algorithm(word)) return give_algorithm(word, map.file(), parameters);
  const std::string path =
      (std::filesystem::path(map.file()).parent_path() / word).lexically_normal().string();
  ERGOMETER_ASSIGN(const std::string xml, base::read_file(path, kLargestAlgorithm));
  return give_algorithm(xml, path, parameters);
}

}  // namespace

bool is_inline_algorithm(std::string_view word) {
  const size_t first = word.find_first_not_of(" \t\r\n");
  return first != word.npos && word[first] == '<';
}

void read_given_algorithms(YamlMap& map, base::ParameterSet& parameters) {
  if (map.error() || !map.has(kGivenAlgorithms)) return;
  const std::vector<std::string> words = map.texts(kGivenAlgorithms);
  if (words.empty() || words.size() > kMostGiven)
    return map.refuse(kGivenAlgorithms, "found {} files; allowed: a list of 1 to {} MSCCL files",
                      words.size(), kMostGiven);
  forget_algorithms(parameters);
  for (const std::string& word : words)
    if (auto given = give_file(word, map, parameters); !given)
      return map.refuse(kGivenAlgorithms, given.error().message);
}

Result<void> give_algorithm(std::string_view xml, const std::string& file,
                            base::ParameterSet& parameters) {
  ERGOMETER_ASSIGN(const size_t number, shelf().put(xml, file));
  size_t index = 0;
  while (parameters.has(entry_name(index))) ++index;
  parameters.set(entry_name(index), {static_cast<double>(number), "", shelf().at(number)->name,
                                     base::Grade::kAssumed});
  return {};
}

std::vector<std::shared_ptr<const Algorithm>> given_algorithms(
    const base::ParameterSet& parameters) {
  std::vector<std::shared_ptr<const Algorithm>> algorithms;
  for (size_t index = 0;; ++index) {
    const base::Parameter* given = parameters.find(entry_name(index));
    if (given == nullptr) return algorithms;
    algorithms.push_back(shelf().at(static_cast<size_t>(std::llround(given->value))));
  }
}

}  // namespace ergometer::spec
