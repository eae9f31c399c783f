#pragma once

#include <compare>

namespace ergometer::base {

/// A number with its unit in the type, held in the SI base unit the tag names.
/// Quantities of one unit add and compare; products and quotients exist only where they mean
/// something (`Bytes / BytesPerSecond` is `Seconds`). Inside numeric kernels, where thousands sit
/// in one array, use a plain double whose name ends in its unit (`duration_s`).
template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  constexpr double value() const { return value_; }

  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value_ * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value_); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value_ / b); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

 private:
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsUnit>;
using Bytes = Quantity<struct BytesUnit>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;
/// A count of floating-point operations; a multiply-add is two.
using Flops = Quantity<struct FlopsUnit>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondUnit>;
using Watts = Quantity<struct WattsUnit>;
using Joules = Quantity<struct JoulesUnit>;

constexpr Seconds operator/(Bytes work, BytesPerSecond rate) {
  return Seconds(work.value() / rate.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds(work.value() / rate.value());
}
constexpr BytesPerSecond operator/(Bytes work, Seconds time) {
  return BytesPerSecond(work.value() / time.value());
}
constexpr FlopsPerSecond operator/(Flops work, Seconds time) {
  return FlopsPerSecond(work.value() / time.value());
}
constexpr Joules operator*(Watts power, Seconds time) {
  return Joules(power.value() * time.value());
}

}  // namespace ergometer::base
