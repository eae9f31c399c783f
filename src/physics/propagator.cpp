#include "physics/propagator.h"

#include <algorithm>
#include <cmath>

namespace ergometer::physics {
namespace {

/// a b + c.
Matrix multiply_add(const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix result = c;
  for (int i = 0; i < a.rows; ++i) {
    for (int k = 0; k < a.columns; ++k) {
      const double factor = a.at(i, k);
      if (factor == 0) continue;  // upstream never feels downstream: a quarter and more are zero
      for (int j = 0; j < b.columns; ++j) result.at(i, j) += factor * b.at(k, j);
    }
  }
  return result;
}

Matrix scaled(Matrix a, double factor) {
  for (double& value : a.values) value *= factor;
  return a;
}

Matrix sum(Matrix a, const Matrix& b) {
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

Matrix identity(int size, double factor) {
  Matrix result(size, size);
  for (int i = 0; i < size; ++i) result.at(i, i) = factor;
  return result;
}

double largest_row_sum(const Matrix& a) {
  double largest = 0;
  for (int i = 0; i < a.rows; ++i) {
    double row = 0;
    for (int j = 0; j < a.columns; ++j) row += std::abs(a.at(i, j));
    largest = std::max(largest, row);
  }
  return largest;
}

/// E(t) = e^(A t), its integral S from 0 to t and the integral R of S.
struct Flow {
  double t = 0;
  Matrix e, s, r;
};

/// For |A| t at most 1/2: R = t^2 sum_k (A t)^k / (k+2)!, the first term left out below 1e-18 of
/// the sum; S = t + A R, E = 1 + A S.
Flow short_flow(const Matrix& rate, double t) {
  constexpr int kTerms = 15;
  const Matrix at = scaled(rate, t);
  double factorial = 1;
  for (int k = 2; k <= kTerms + 2; ++k) factorial *= k;
  Matrix series = identity(rate.rows, 1 / factorial);
  for (int k = kTerms - 1; k >= 0; --k) {
    factorial /= k + 3;
    series = multiply_add(at, series, identity(rate.rows, 1 / factorial));
  }
  Flow flow{t, {}, {}, scaled(std::move(series), t * t)};
  flow.s = multiply_add(rate, flow.r, identity(rate.rows, t));
  flow.e = multiply_add(rate, flow.s, identity(rate.rows, 1));
  return flow;
}

/// From t to 2 t: E' = E E, S' = S + E S, R' = R + t S + E R.
void double_time(Flow& flow) {
  flow.r = multiply_add(flow.e, flow.r, sum(scaled(flow.s, flow.t), flow.r));
  flow.s = multiply_add(flow.e, flow.s, flow.s);
  flow.e = multiply_add(flow.e, flow.e, Matrix(flow.e.rows, flow.e.columns));
  flow.t *= 2;
}

/// The columns of `a` that inputs reach, divided by the heat capacities there.
Matrix times_inputs(const HeatNetwork& network, const Matrix& a) {
  Matrix result(a.rows, 2 * network.gpus());
  for (int input = 0; input < result.columns; ++input) {
    const int state = HeatNetwork::kPlaces * (input / 2) +
                      (input % 2 == 0 ? HeatNetwork::kDie : HeatNetwork::kMemory);
    for (int i = 0; i < a.rows; ++i)
      result.at(i, input) = a.at(i, state) / network.j_per_k[static_cast<size_t>(state)];
  }
  return result;
}

std::vector<double> times_row(const std::vector<double>& row, const Matrix& a) {
  std::vector<double> result(static_cast<size_t>(a.columns));
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j)
      result[static_cast<size_t>(j)] += row[static_cast<size_t>(i)] * a.at(i, j);
  return result;
}

}  // namespace

Propagator propagate(const HeatNetwork& network, double dt_s) {
  double t = dt_s;
  int doublings = 0;
  for (const double speed = largest_row_sum(network.rate); speed * t > 0.5; t /= 2) ++doublings;
  Flow flow = short_flow(network.rate, t);
  for (int i = 0; i < doublings; ++i) double_time(flow);

  Propagator result;
  result.input = times_inputs(network, flow.s);
  result.carried_state = times_row(network.out_w_per_k, flow.s);
  result.carried_input = times_row(network.out_w_per_k, times_inputs(network, flow.r));
  result.state = std::move(flow.e);
  return result;
}

}  // namespace ergometer::physics
