#pragma once

// The measured kernels and collectives of tests/validation/data/microbench.csv, for the tests that
// hold the cost model to them.

#include <string>
#include <vector>

namespace ergometer::cost {

struct MeasuredRow {
  std::string id, kind, device, config, unit;
  int ranks = 0;
  double value = 0;
  /// Of "m=4096, layout=TN": the text behind `key=`, empty without.
  std::string word(const std::string& key) const;
  int64_t number(const std::string& key) const;
};

std::vector<MeasuredRow> measured_rows();

/// Relative errors of one kind on one device.
struct Errors {
  std::vector<double> values;  ///< predicted / measured - 1
  void add(double predicted, double measured) { values.push_back(predicted / measured - 1); }
  double median() const;  ///< of the absolute values
  double mean() const;
  double max() const;
  /// "A100 gemm: 109 rows, median 1.2 %, ..." on standard output.
  void print(const std::string& title) const;
};

}  // namespace ergometer::cost
