#include "report/summary/fit_text.h"

#include <fmt/format.h>

#include "report/colours.h"
#include "report/format.h"

namespace ergometer::report {

std::string unfit_text(const run::Memory& memory, const TextStyle& style) {
  if (memory.fits) return {};
  std::string advice = memory.advice.empty() ? "does not fit in memory" : memory.advice;
  if (run::fit_state(memory.fit_probability) == run::FitState::kAtRisk)
    advice.insert(0, "probably ");
  if (advice.front() >= 'a' && advice.front() <= 'z')
    advice.front() = static_cast<char>(advice.front() - 32);
  return paint(style, sgr_of("bad"), wrap(advice, kWidth, 0)) +
         "\nThe times below are those of the job if it did fit.\n";
}

std::string fit_line(const run::Memory& m, const TextStyle& style) {
  constexpr double kWhole = 99.95;  // from here on without a decimal
  const double needed = (m.peak_bytes + m.reserved_bytes) / kGib, all = m.capacity_bytes / kGib;
  const std::string sure = format_probability(m.fit_probability);
  const std::string reserve =
      fmt::format("{} that the allocator keeps", format_gib(m.reserved_bytes));
  switch (run::fit_state(m.fit_probability)) {
    case run::FitState::kFits:
      return paint(style, sgr_of("good"),
                   fmt::format("fits with {:.{}f} GiB to spare, besides {} ({})", all - needed,
                               all - needed < kWhole ? 1 : 0, reserve, sure));
    case run::FitState::kAtRisk:
      return paint(style, sgr_of("fair"),
                   wrap(fmt::format("at risk: {:.1f} of {:.1f} GiB with {}, which is uncertain "
                                    "({})",
                                    needed, all, reserve, sure),
                        kWidth, 2));
    case run::FitState::kDoesNotFit: break;
  }
  return paint(
      style, sgr_of("bad"),
      fmt::format("does not fit: {:.1f} GiB short, with {} ({})", needed - all, reserve, sure));
}

}  // namespace ergometer::report
