#include "calibration/twin/board_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/collection.h"
#include "calibration/twin/board_overrides.h"
#include "engine/simulate.h"
#include "physics/gpu_power.h"
#include "physics/silicon.h"

namespace ergometer::calibration::twin {
namespace {

using spec::OverrideKind;

constexpr double kPowerNoise = 0.025, kDieNoise = 1, kClockNoise = 0.005;
constexpr double kInletPrior = 3;    ///< K, of one node against what the job says (assumed)
constexpr double kInletNoise = 0.5;  ///< K, of a sensor (assumed)
constexpr double kPriorFreedom = 4;  ///< of boards' priors
constexpr double kPriorBoards = 4;   ///< as many boards' weight have the assumed spreads
/// Of leakage, as far as it stands for voltage: a deviation of 1.5 % of the voltage draws what 20 %
/// of the leakage do, where that is a tenth of the power.
constexpr double kVoltageAsLeakage = 0.2;
constexpr double kFarthest = 2.3, kFarthestK = 30;  ///< of logarithms, of an inlet
constexpr int kRounds = 16;
constexpr double kTold = 0.8;  ///< of the prior's width: an error above it tells nothing

/// Parameters of a node: its inlet, then leakage and resistance of every recorded board of it.
struct NodeFit {
  std::vector<size_t> boards;
  Eigen::VectorXd x, error;
  Eigen::VectorXd best;        ///< the x with the least cost so far
  double best_off = INFINITY;  ///< sum of squares of its residuals, in units of their noise
};

/// Of one recorded board, predicted less recorded: power and clock as logarithms, temperature in K.
using Residual = std::array<double, 3>;

/// Of a board's residuals: of any sensor, and of the mean of its readings.
Residual noise_of(const BoardReading& read) {
  return {std::hypot(kPowerNoise, read.power_error), std::hypot(kDieNoise, read.die_error_k),
          std::hypot(kClockNoise, read.clock_error)};
}

class BoardFit {
 public:
  BoardFit(const BoardReadings& readings, const spec::Job& job, double inlet_c,
           const std::vector<bool>& inlets_told)
      : readings_(readings), job_(job), inlets_told_(inlets_told) {
    inlets_c_.assign(static_cast<size_t>(job.nodes()), inlet_c);
    for (const spec::Override& one : job.conditions.overrides)
      for (size_t n = 0; n < inlets_c_.size(); ++n)
        if (one.kind == OverrideKind::kInlet && one.is_of_node(static_cast<int64_t>(n)))
          inlets_c_[n] = one.value;
    job_.conditions.seed = 0;
    const physics::SiliconSpread spread = physics::silicon_spread(job.cluster.node.gpu);
    leakage_ = assumed_leakage_ = std::hypot(spread.leakage, kVoltageAsLeakage);
    resistance_ = assumed_resistance_ = spread.thermal_resistance;
    for (const BoardReading& read : readings.gpus) boards_.emplace_back().read = read;
    nodes_.resize(static_cast<size_t>(job.nodes()));
    for (size_t i = 0; i < boards_.size(); ++i)
      nodes_[static_cast<size_t>(boards_[i].read.node)].boards.push_back(i);
    for (NodeFit& node : nodes_) {
      node.x.setZero(static_cast<Eigen::Index>(1 + 2 * node.boards.size()));
      node.error = node.best = node.x;
    }
  }

  Result<void> run() {
    ERGOMETER_ASSIGN(const std::vector<run::Rank> nominal, play(0, 0, 0));
    take_nominal(nominal);
    ERGOMETER_TRY(take_caps());
    ERGOMETER_TRY(settle());
    ERGOMETER_ASSIGN(const std::vector<run::Rank> explained, play(0, 0, 0));
    return take_speeds(explained) ? settle() : Result<void>();
  }

  Boards result() && {
    Boards out;
    out.hosts = readings_.hosts;
    out.notes = readings_.notes;
    for (size_t n = 0; n < nodes_.size(); ++n) add_node(n, out);
    out.leakage_spread = spread_of(leakage_, assumed_leakage_, 0);
    out.resistance_spread = spread_of(resistance_, assumed_resistance_, 1);
    for (Board& board : boards_) board.unlike = is_unlike(board);
    out.boards = std::move(boards_);
    return out;
  }

 private:
  /// Ranks of the job on the boards so far, with everybody's leakage, resistance and inlet moved.
  Result<std::vector<run::Rank>> play(double leakage, double resistance, double inlet_k) const {
    spec::Job job = job_;
    for (const Board& board : boards_) {
      const BoardReading& at = board.read;
      if (board.cap_w > 0) add_override(job, at.node, at.gpu, OverrideKind::kPowerCap, board.cap_w);
      if (board.speed < 1) add_override(job, at.node, at.gpu, OverrideKind::kSpeed, board.speed);
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const NodeFit& node = nodes_[n];
      if (node.boards.empty()) continue;
      add_override(job, static_cast<int64_t>(n), -1, OverrideKind::kInlet,
                   inlets_c_[n] + node.x[0] + inlet_k);
      for (size_t i = 0; i < node.boards.size(); ++i) {
        const BoardReading& at = boards_[node.boards[i]].read;
        const auto j = static_cast<Eigen::Index>(1 + 2 * i);
        add_override(job, at.node, at.gpu, OverrideKind::kLeakage, std::exp(node.x[j] + leakage));
        add_override(job, at.node, at.gpu, OverrideKind::kResistance,
                     std::exp(node.x[j + 1] + resistance));
      }
    }
    const engine::SimulateOptions options{.kernels = false, .all_ranks = true, .intervals = false};
    ERGOMETER_ASSIGN(run::Run run, engine::simulate(job, options));
    return std::move(run.ranks);
  }

  /// Ranks of recorded boards, in their order.
  std::vector<const run::Rank*> of_boards(const std::vector<run::Rank>& ranks) const {
    const int64_t per_node = job_.cluster.node.gpus;
    std::vector<const run::Rank*> by_gpu(static_cast<size_t>(job_.nodes() * per_node));
    for (const run::Rank& rank : ranks)
      by_gpu[static_cast<size_t>(job_.parallelism.gpu_of(rank.rank))] = &rank;
    return base::mapped(boards_, [&](const Board& board) {
      return by_gpu[static_cast<size_t>(board.read.node * per_node + board.read.gpu)];
    });
  }

  void take_nominal(const std::vector<run::Rank>& ranks) {
    const auto of = of_boards(ranks);
    for (size_t i = 0; i < boards_.size(); ++i) {
      if (of[i] == nullptr) continue;
      boards_[i].predicted_w = of[i]->mean_power_w;
      boards_[i].predicted_c = of[i]->mean_gpu_c;
      boards_[i].predicted_mhz = of[i]->mean_clock_mhz;
    }
  }

  /// Caps as they were read, where the job says others.
  Result<void> take_caps() {
    constexpr double kSameCap = 2;  // W
    ERGOMETER_ASSIGN(const physics::GpuPower gpu, physics::gpu_power(job_.cluster.node.gpu));
    for (Board& board : boards_) {
      double cap_w = job_.conditions.power_cap_w > 0 ? job_.conditions.power_cap_w : gpu.cap_w;
      for (const spec::Override& one : job_.conditions.overrides)
        if (one.kind == OverrideKind::kPowerCap && one.is_of(board.read.node, board.read.gpu))
          cap_w = one.value;
      const double read_w = board.read.limit_w;
      const bool allowed = read_w >= gpu.lowest_cap_w && read_w <= gpu.highest_cap_w;
      if (allowed && std::abs(read_w - cap_w) > kSameCap) board.cap_w = read_w;
    }
    return {};
  }

  /// What clocks lack beside the others though power and heat are as they are; false: nothing.
  bool take_speeds(const std::vector<run::Rank>& explained) {
    constexpr double kLacks = 0.03;
    const std::vector<Residual> off = residuals(explained);
    const double usual = together(off)[2];
    bool any = false;
    for (size_t i = 0; i < boards_.size(); ++i) {
      const double lacks = off[i][2] - usual;
      if (boards_[i].read.clock_mhz <= 0 || lacks < kLacks) continue;
      boards_[i].speed = std::exp(-lacks);
      any = true;
    }
    return any;
  }

  std::vector<Residual> residuals(const std::vector<run::Rank>& ranks) const {
    const auto of = of_boards(ranks);
    std::vector<Residual> result(boards_.size());
    for (size_t i = 0; i < boards_.size(); ++i) {
      const BoardReading& read = boards_[i].read;
      if (of[i] == nullptr) continue;
      if (read.power_w > 0) result[i][0] = std::log(of[i]->mean_power_w / read.power_w);
      if (read.die_c > 0) result[i][1] = of[i]->mean_gpu_c - read.die_c;
      if (read.clock_mhz > 0) result[i][2] = std::log(of[i]->mean_clock_mhz / read.clock_mhz);
    }
    return result;
  }

  /// What all boards are off together.
  Residual together(const std::vector<Residual>& all) const {
    Residual common{};
    for (const size_t k : {size_t{0}, size_t{2}}) {
      std::vector<double> values;
      for (size_t i = 0; i < all.size(); ++i)
        if (k == 0 ? boards_[i].read.power_w > 0 : boards_[i].read.clock_mhz > 0)
          values.push_back(all[i][k]);
      common[k] = base::lower_median(values);
    }
    return common;
  }

  /// To the least cost that the rounds find.
  Result<void> settle() {
    for (NodeFit& node : nodes_) node.best_off = INFINITY;
    for (int round = 0; round < kRounds && (round == 0 || !rests()); ++round)
      ERGOMETER_TRY(improve());
    for (NodeFit& node : nodes_) node.x = node.best;
    return {};
  }

  /// Of a node, what its residuals and priors add up to; priors as `prior_weight` weighs them.
  double cost(double off, size_t n, const Eigen::VectorXd& x) const {
    const auto prior = [](double value, double sigma) {
      return kPriorFreedom * std::log1p(value * value / (kPriorFreedom * sigma * sigma));
    };
    const auto& inlet = readings_.inlets_c[n];
    double sum = off + (inlet ? std::pow((inlets_c_[n] + x[0] - *inlet) / kInletNoise, 2)
                              : prior(x[0], kInletPrior));
    for (Eigen::Index j = 1; j < x.size(); ++j)
      sum += prior(x[j], j % 2 == 1 ? leakage_ : resistance_);
    return sum;
  }

  /// Keeps where a node's cost fell; else goes half of the way back. Whether it fell.
  bool fell(size_t n, const Eigen::VectorXd& off) {
    NodeFit& node = nodes_[n];
    const double now = off.squaredNorm();
    if (cost(now, n, node.x) > cost(node.best_off, n, node.best)) {
      node.x = (node.x + node.best) / 2;
      return false;
    }
    node.best = node.x;
    node.best_off = now;
    return true;
  }

  /// Whether the next round would change next to nothing.
  bool rests() const {
    constexpr double kSame = 0.003, kSameSpread = 0.005;
    if (spreads_moved_ > kSameSpread) return false;
    return std::ranges::all_of(nodes_, [](const NodeFit& node) {
      return std::isfinite(node.best_off) && (node.x - node.best).lpNorm<Eigen::Infinity>() < kSame;
    });
  }

  bool nodes_at_best() const {
    return std::ranges::all_of(nodes_, [](const NodeFit& node) { return node.x == node.best; });
  }

  Result<void> improve() {
    // Down: hotter boards may find no rest.
    constexpr double kStep = -0.05, kStepK = -1;
    std::vector<std::vector<Residual>> plays;
    for (const auto& [leakage, resistance, inlet_k] :
         {std::array{0.0, 0.0, 0.0}, {kStep, 0.0, 0.0}, {0.0, kStep, 0.0}, {0.0, 0.0, kStepK}}) {
      const auto ranks = play(leakage, resistance, inlet_k);
      if (!ranks && nodes_at_best()) return tl::unexpected(ranks.error());
      if (!ranks) {
        for (NodeFit& node : nodes_) node.x = (node.x + node.best) / 2;
        return {};
      }
      plays.push_back(residuals(*ranks));
    }
    const auto &r = plays[0], &by_l = plays[1], &by_r = plays[2], &by_d = plays[3];
    const Residual common = together(r);
    std::vector<Linear> linear;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const NodeFit& node = nodes_[n];
      const auto rows = static_cast<Eigen::Index>(3 * node.boards.size());
      Linear one{Eigen::VectorXd::Zero(rows), Eigen::MatrixXd::Zero(rows, node.x.size()), node.x};
      for (size_t i = 0; i < node.boards.size(); ++i)
        for (size_t k = 0; k < 3; ++k) {
          const size_t b = node.boards[i];
          const double noise = noise_of(boards_[b].read)[k];
          const auto row = static_cast<Eigen::Index>(3 * i + k),
                     column = static_cast<Eigen::Index>(1 + 2 * i);
          one.r[row] = (r[b][k] - common[k]) / noise;
          one.slopes(row, 0) = (by_d[b][k] - r[b][k]) / kStepK / noise;
          // A temperature alone tells no leakage from resistance.
          if (was_read(boards_[b].read, 0) || was_read(boards_[b].read, 2))
            one.slopes(row, column) = (by_l[b][k] - r[b][k]) / kStep / noise;
          one.slopes(row, column + 1) = (by_r[b][k] - r[b][k]) / kStep / noise;
          if (!was_read(boards_[b].read, k)) one.r[row] = 0;
          if (!was_read(boards_[b].read, k)) one.slopes.row(row).setZero();
        }
      if (!fell(n, one.r)) one.r.resize(0);
      linear.push_back(std::move(one));
    }
    solve(linear);
    return {};
  }

  static bool was_read(const BoardReading& read, size_t k) {
    return (k == 0 ? read.power_w : k == 1 ? read.die_c : read.clock_mhz) > 0;
  }

  struct Linear {
    Eigen::VectorXd r;
    Eigen::MatrixXd slopes;
    Eigen::VectorXd from;
  };

  /// Weight of a prior, of Student's distribution, where x stands.
  static double prior_weight(double x, double sigma) {
    return 1 / (sigma * sigma * (1 + x * x / (kPriorFreedom * sigma * sigma)));
  }

  void solve_node(size_t n, const Linear& at) {
    NodeFit& node = nodes_[n];
    if (at.r.size() == 0) return;
    Eigen::MatrixXd h = at.slopes.transpose() * at.slopes;
    Eigen::VectorXd g = at.slopes.transpose() * (at.slopes * at.from - at.r);
    const auto& inlet = readings_.inlets_c[n];
    const double weight =
        inlet ? 1 / (kInletNoise * kInletNoise) : prior_weight(node.x[0], kInletPrior);
    h(0, 0) += weight;
    if (inlet) g[0] += weight * (*inlet - inlets_c_[n]);
    for (Eigen::Index j = 1; j < node.x.size(); ++j)
      h(j, j) += prior_weight(node.x[j], j % 2 == 1 ? leakage_ : resistance_);
    const Eigen::MatrixXd covariance = h.inverse();
    node.x = covariance * g;
    // As far as overrides go: a factor of ten, an inlet that cools.
    node.x[0] = std::clamp(node.x[0], -kFarthestK, kFarthestK);
    for (Eigen::Index j = 1; j < node.x.size(); ++j)
      node.x[j] = std::clamp(node.x[j], -kFarthest, kFarthest);
    node.error = covariance.diagonal().cwiseSqrt();
  }

  /// The spread that the boards so far have, the assumed one weighing as `kPriorBoards`; faulty
  /// boards weigh little.
  double spread_now(Eigen::Index which, double sigma, double assumed) const {
    double sum = kPriorBoards * assumed * assumed, count = kPriorBoards;
    for (const NodeFit& node : nodes_)
      for (Eigen::Index j = 1 + which; j < node.x.size(); j += 2) {
        const double weight = sigma * sigma * prior_weight(node.x[j], sigma);
        sum += weight * (node.x[j] * node.x[j] + node.error[j] * node.error[j]);
        count += weight;
      }
    return std::sqrt(sum / count);
  }

  void solve(const std::vector<Linear>& linear) {
    constexpr int kReweighted = 200;
    const double leakage = leakage_, resistance = resistance_;
    for (int i = 0; i < kReweighted; ++i) {
      for (size_t n = 0; n < nodes_.size(); ++n) solve_node(n, linear[n]);
      leakage_ = spread_now(0, leakage_, assumed_leakage_);
      resistance_ = spread_now(1, resistance_, assumed_resistance_);
    }
    spreads_moved_ =
        std::max(std::abs(leakage_ / leakage - 1), std::abs(resistance_ / resistance - 1));
  }

  /// Of a spread, by how much more is known of the boards than their prior. It is told where they
  /// differ by more than they would if all were alike: then a board's value, which its prior draws
  /// in to k of what is read, would have the variance k (1 - k) sigma^2 of its reading's error.
  BoardValue spread_of(double sigma, double assumed, Eigen::Index which) const {
    double known = 0, count = 0, squares = 0;
    for (const NodeFit& node : nodes_)
      for (Eigen::Index j = 1 + which; j < node.x.size(); j += 2) {
        const double k = 1 - std::pow(node.error[j] / sigma, 2);
        if (!(k > 0)) continue;
        const double weight = sigma * sigma * prior_weight(node.x[j], sigma);
        known += k;
        count += weight;
        squares += weight * node.x[j] * node.x[j] / (k * (1 - k) * sigma * sigma);
      }
    const bool told = known > kPriorBoards && squares > count + 2 * std::sqrt(2 * count);
    const double boards = known + kPriorBoards, statistical = 1 / std::sqrt(2 * boards);
    if (!told) return {assumed, statistical, false};
    // And by as much as the assumed spread draws in what the boards alone would say.
    const double alone = std::max(
        sigma * sigma / 16, (boards * sigma * sigma - kPriorBoards * assumed * assumed) / known);
    return {sigma, std::hypot(statistical, std::log(std::sqrt(alone) / sigma)), true};
  }

  void add_node(size_t n, Boards& out) {
    const NodeFit& node = nodes_[n];
    NodeInlet inlet;
    if (n < out.hosts.size()) inlet.host = out.hosts[n];
    inlet.predicted_c = inlet.inlet_c = inlets_c_[n];
    inlet.error_k = kInletPrior;
    if (inlets_told_[n]) {
      inlet.told = true;
      inlet.inlet_c += node.x[0];
      // What all sensors of a node read too much or too little in, none of them tells; nor what
      // all its GPUs are short of their heat.
      double together_k = kDieNoise;
      for (const size_t i : node.boards)
        together_k = std::max(together_k, noise_of(boards_[i].read)[1]);
      inlet.error_k = std::hypot(node.error[0], together_k);
      inlet.read = readings_.inlets_c[n].has_value();
      inlet.unlike = std::abs(node.x[0]) > 2 * inlet.error_k;
    }
    out.inlets.push_back(inlet);
    for (size_t i = 0; i < node.boards.size(); ++i) {
      Board& board = boards_[node.boards[i]];
      const auto j = static_cast<Eigen::Index>(1 + 2 * i);
      const auto value = [&](Eigen::Index at, double prior) {
        const double width = 1 / std::sqrt(prior_weight(node.x[at], prior));
        return BoardValue{std::exp(node.x[at]), node.error[at], node.error[at] < kTold * width};
      };
      board.leakage = value(j, leakage_);
      board.resistance = value(j + 1, resistance_);
    }
  }

  bool is_unlike(const Board& board) const {
    const auto far = [](const BoardValue& value, double spread) {
      return std::abs(std::log(value.value)) > 2 * std::max(spread, value.error);
    };
    return board.speed < 1 || board.cap_w > 0 || far(board.leakage, leakage_) ||
           far(board.resistance, resistance_);
  }

  const BoardReadings& readings_;
  spec::Job job_;
  std::vector<bool> inlets_told_;
  std::vector<double> inlets_c_;  ///< by node, as the job says
  std::vector<Board> boards_;
  std::vector<NodeFit> nodes_;
  double leakage_, assumed_leakage_, resistance_, assumed_resistance_;
  double spreads_moved_ = 0;  ///< by the last round, relative
};

}  // namespace

Result<Boards> board_fit(const BoardReadings& readings, const spec::Job& job, double inlet_c,
                         const std::vector<bool>& inlets_told) {
  BoardFit fit(readings, job, inlet_c, inlets_told);
  ERGOMETER_TRY(fit.run());
  return std::move(fit).result();
}

}  // namespace ergometer::calibration::twin
