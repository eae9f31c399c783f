// Exact steps against an ODE solver that shares nothing with them: its right-hand side is the heat
// network written out flow by flow, part by part.
#include <cvode/cvode.h>
#include <gtest/gtest.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "physics/heat.h"

namespace ergometer::physics {
namespace {

enum : sunindextype { kDieState, kSpreaderState, kSinkState, kMemoryState, kStates };

struct Problem {
  CoolingParameters cooling;
  spec::Node node;
  std::vector<double> resistance, die_w, memory_w;
  double inlet_c = 20, flow = 1;
};

/// y' of all parts of one node, front rows before rear rows.
int heat_flows(realtype, N_Vector state, N_Vector rate, void* data) {
  const auto& p = *static_cast<const Problem*>(data);
  const CoolingParameters& c = p.cooling;
  const double* y = N_VGetArrayPointer(state);
  double* dy = N_VGetArrayPointer(rate);
  const double film = c.film_k_per_w * std::pow(p.flow, -c.flow_exponent) + c.sink_k_per_w;
  std::vector<double> out(static_cast<size_t>(p.node.gpus));
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < p.node.gpus; ++i) {
      const spec::Slot slot = p.node.slots[static_cast<size_t>(i)];
      if (slot.row != row) continue;
      double air = p.inlet_c;
      for (int j = 0; j < p.node.gpus; ++j) {
        const spec::Slot other = p.node.slots[static_cast<size_t>(j)];
        if (other.lane == slot.lane && other.row < row)
          air += c.preheat_k_per_w / p.flow * out[static_cast<size_t>(j)];
      }
      const double* x = y + kStates * i;
      const auto k = static_cast<size_t>(i);
      out[k] = (x[kSinkState] - air) / film;
      const double up = (x[kDieState] - x[kSpreaderState]) / (c.die_k_per_w * p.resistance[k]);
      const double side = (x[kMemoryState] - x[kSpreaderState]) / c.memory_k_per_w;
      const double down = (x[kSpreaderState] - x[kSinkState]) / c.spreader_k_per_w;
      const bool twins = p.node.gpu.dies_per_module == 2;
      const double across =
          twins ? c.twin_w_per_k * (y[kStates * (i ^ 1) + kSinkState] - x[kSinkState]) : 0;
      dy[kStates * i + kDieState] = (p.die_w[k] - up) / c.die_j_per_k;
      dy[kStates * i + kSpreaderState] = (up + side - down) / c.spreader_j_per_k;
      dy[kStates * i + kSinkState] = (down + across - out[k]) / c.sink_j_per_k;
      dy[kStates * i + kMemoryState] = (p.memory_w[k] - side) / c.memory_j_per_k;
    }
  return 0;
}

/// CVODE's backward differentiation formulas at 1e-11, restarted where the inputs jump.
class Solver {
 public:
  explicit Solver(Problem& problem) : problem_(problem) {
    SUNContext_Create(nullptr, &context_);
    const sunindextype size = kStates * problem.node.gpus;
    state_ = N_VNew_Serial(size, context_);
    N_VConst(problem.inlet_c, state_);
    cvode_ = CVodeCreate(CV_BDF, context_);
    CVodeInit(cvode_, heat_flows, 0, state_);
    CVodeSStolerances(cvode_, 1e-11, 1e-11);
    CVodeSetMaxNumSteps(cvode_, 1'000'000);
    CVodeSetUserData(cvode_, &problem_);
    matrix_ = SUNDenseMatrix(size, size, context_);
    linear_ = SUNLinSol_Dense(state_, matrix_, context_);
    CVodeSetLinearSolver(cvode_, linear_, matrix_);
  }
  ~Solver() {
    CVodeFree(&cvode_);
    SUNLinSolFree(linear_);
    SUNMatDestroy(matrix_);
    N_VDestroy(state_);
    SUNContext_Free(&context_);
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  void advance(double dt_s) {
    CVodeReInit(cvode_, 0, state_);
    realtype reached = 0;
    CVodeSetStopTime(cvode_, dt_s);
    ASSERT_GE(CVode(cvode_, dt_s, state_, &reached, CV_NORMAL), 0);
  }
  double at(int gpu, int part) const { return N_VGetArrayPointer(state_)[kStates * gpu + part]; }

 private:
  Problem& problem_;
  SUNContext context_ = nullptr;
  N_Vector state_ = nullptr;
  SUNMatrix matrix_ = nullptr;
  SUNLinearSolver linear_ = nullptr;
  void* cvode_ = nullptr;
};

/// Largest difference over 60 steps in which powers, inlet and flow jump, K.
double worst_difference(Problem problem) {
  Heat heat(problem.cooling, problem.node, 1, problem.resistance);
  heat.set_inlet(0, problem.inlet_c);
  Solver solver(problem);
  double worst = 0;
  for (int step = 0; step < 60; ++step) {
    for (size_t i = 0; i < problem.die_w.size(); ++i) {
      problem.die_w[i] = 80 + static_cast<double>((i * 131 + static_cast<size_t>(step) * 71) % 600);
      problem.memory_w[i] = static_cast<double>((i * 17 + static_cast<size_t>(step) * 29) % 80);
    }
    problem.inlet_c = 20 + step % 3 * 7;
    problem.flow = (40 + step % 5 * 22) / 128.0;
    heat.set_inlet(0, problem.inlet_c);
    heat.set_flow(0, problem.flow);
    const double dt = step % 4 == 0 ? 0.02 : step % 4 == 1 ? 7 : 0.5;
    heat.advance(dt, problem.die_w, problem.memory_w);
    solver.advance(dt);
    for (int i = 0; i < problem.node.gpus; ++i) {
      const auto k = static_cast<size_t>(i);
      worst = std::max(worst, std::abs(heat.die_c()[k] - solver.at(i, kDieState)));
      worst = std::max(worst, std::abs(heat.memory_c()[k] - solver.at(i, kMemoryState)));
    }
  }
  std::printf("largest difference from CVODE: %.1e K\n", worst);
  return worst;
}

Problem problem_of(std::vector<spec::Slot> slots, int dies_per_module) {
  Problem problem;
  problem.cooling.die_j_per_k = 2;
  problem.cooling.spreader_j_per_k = 60;
  problem.cooling.sink_j_per_k = 700;
  problem.cooling.memory_j_per_k = 20;
  problem.cooling.die_k_per_w = 0.016;
  problem.cooling.spreader_k_per_w = 0.01;
  problem.cooling.memory_k_per_w = 0.05;
  problem.cooling.sink_k_per_w = 0.01;
  problem.cooling.film_k_per_w = 0.014;
  problem.cooling.preheat_k_per_w = 0.022;
  problem.cooling.twin_w_per_k = 14;
  problem.node.gpus = static_cast<int>(slots.size());
  problem.node.slots = std::move(slots);
  problem.node.gpu.dies_per_module = dies_per_module;
  const auto gpus = static_cast<size_t>(problem.node.gpus);
  problem.die_w.resize(gpus);
  problem.memory_w.resize(gpus);
  for (size_t i = 0; i < gpus; ++i)
    problem.resistance.push_back(static_cast<double>(28 + 3 * (i % 4)) / 32);
  return problem;
}

TEST(HeatAgainstCvode, TwoRowsOfFour) {
  EXPECT_LT(worst_difference(
                problem_of({{0, 3}, {1, 2}, {0, 2}, {1, 3}, {1, 0}, {0, 1}, {1, 1}, {0, 0}}, 1)),
            1e-6);
}

TEST(HeatAgainstCvode, TwinsInOneLane) {
  EXPECT_LT(worst_difference(problem_of({{0, 0}, {1, 0}, {0, 1}, {1, 1}}, 2)), 1e-6);
}

/// Modules across the airflow join lanes 0 with 1 and 2 with 3, and lane 2 has three rows.
TEST(HeatAgainstCvode, TwinsThatJoinLanes) {
  EXPECT_LT(worst_difference(
                problem_of({{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {0, 3}, {1, 2}, {2, 2}}, 2)),
            1e-6);
}

}  // namespace
}  // namespace ergometer::physics
