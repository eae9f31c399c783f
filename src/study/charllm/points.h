#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spec/files/matrix.h"
#include "study/predict.h"

namespace ergometer::study::charllm {

using Values = std::vector<std::pair<std::string, std::string>>;

/// The values of both.
inline Values with(Values values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

/// Jobs beside the matrix as they are put together, from rows of it or from nothing.
class Jobs {
 public:
  explicit Jobs(const std::vector<spec::MatrixRow>& rows) : rows_(rows) {}
  /// A row of the matrix with other settings; `family` and `id` are the new point's.
  void varied(const std::string& family, const std::string& id, const std::string& of_family,
              const std::string& of_id, const Values& more);
  void fresh(const std::string& family, const std::string& id, const Values& values);
  std::vector<Point> take() { return std::move(points_); }

 private:
  const std::vector<spec::MatrixRow>& rows_;
  std::vector<Point> points_;
};

/// The attribution of what 32 H200 have over 64 H100: a pair of layouts.
struct Pair {
  const char *name, *model, *h100, *h200;  ///< "gpt3", ..., rows with their variants
};
/// What differs in a pair, one bit each of the ids "0000" to "1111" of family "h200-NAME".
inline constexpr const char* kPairFactors[] = {"layout", "recomputation", "HBM bandwidth",
                                               "clocks and power"};
const std::vector<Pair>& pairs();

/// How slow the hot GPUs of family "slow-hot" are, in % of the others' speed.
inline constexpr int kSpeeds[] = {100, 97, 94, 91, 88, 84, 80};
/// Line rates of family "nic", Gb/s a node.
inline constexpr int kNicGbps[] = {50, 100, 200, 400, 800, 1600};
/// Jobs of family "nic": row and variant of the matrix.
struct NicJob {
  const char *id, *family, *row;
};
const std::vector<NicJob>& nic_jobs();
/// GPUs of family "projection".
inline constexpr int kProjectionGpus[] = {32, 128, 512, 2048, 8192};
/// "tp", "pp" of the MI250 layouts; the study's own are not public.
const std::vector<std::pair<std::string, std::string>>& mi250_layouts();
inline constexpr int kMi300xBoards = 15;

void fault_jobs(Jobs& jobs);
void counterfactual_jobs(Jobs& jobs);
void other_machine_jobs(Jobs& jobs);

}  // namespace ergometer::study::charllm
