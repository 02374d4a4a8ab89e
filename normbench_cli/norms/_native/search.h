// The search for a channel's median between the passes over its data: the bracket, the next step, the bound on its
// error.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// as in solver.py and certified.py
constexpr double TINY = 1e-30, FLOOR = 1e-6, TOLERANCE = 6e-6, ROUNDING = 2.4e-7, SMALLEST_SD = 1e-16;
constexpr double TWO_SIDED_FROM = 1.4, REACH_IN_TOLERANCES = 4, TRUSTED_STEP = 0.25;
constexpr double FAR = 0.9;   // of the mean square about a point: so much may come from its distance to the mean
constexpr double NEAR = 0.5;  // standard errors; where values are listed, those that are nearer
constexpr double LARGEST_FLOAT = 3.4e38;

struct Sums {
  double score, weight, near, slope;
};

struct Channel {
  double phi = 2, mean = 0, var = 0, sd = 0, floor = TINY, unit = 1, low = 0, high = 0;
  double distance = 0, reach = 0, one_sided = 0, two_sided = 0, near = 0;  // the search's target accuracy
  double y = 0, last_score = INFINITE, error = INFINITE;
  int passes = 0;
  bool done = false;
  bool listed = false;  // whether values close to y are given one by one

  void begin(double new_mean, double new_var, double least, double most, bool above_two, double values, double tol) {
    mean = new_mean, var = new_var, sd = std::sqrt(var), floor = std::max(sd * FLOOR, TINY);
    double half = sd * 1.001 + std::fabs(mean) * ROUNDING, standard_error = sd / std::sqrt(values);
    low = above_two ? least : mean - half, high = above_two ? most : mean + half;
    unit = std::max(above_two ? most - least : sd, TINY);
    distance = std::max({standard_error * tol, sd * TOLERANCE, floor * 2});
    double bend = std::fabs(phi - 2), slope = phi > 2 ? std::max(bend, 1.0) : std::max(bend, 1e-3);
    bool both = phi >= TWO_SIDED_FROM && phi <= 2;
    reach = (distance + std::fabs(mean) * ROUNDING) * (both ? REACH_IN_TOLERANCES * std::pow(values, 1.0 / 6) : slope);
    one_sided = reach / slope, two_sided = both ? reach / 2 : 0;
    listed = !above_two && phi < TWO_SIDED_FROM;
    near = std::max(standard_error * NEAR, distance * 2);
  }

  void set(double where) { y = (float)std::min(std::max(where, low), high); }

  // At the end of Newton's step from the center of the batch before, where that is short
  void start_near(double center, double score, double slope, double its_floor) {
    double step = score / (slope * (phi - 1));
    if (!(center > low && center < high && std::isfinite(step))) return;
    if (score > 0) low = std::max(low, center - its_floor);
    if (score < 0) high = std::min(high, center + its_floor);
    set(std::fabs(step) <= (high - low) * (TRUSTED_STEP / 2) ? center + step : y);
  }

  void narrow(double score) {
    if (score > 0) low = std::max(low, y);
    if (score < 0) high = std::min(high, y);
  }

  bool finish(double bound) {  // bound: on the error of the step that is taken now
    double rounding = std::fabs(y) * ROUNDING, whole = std::min(bound, high - low) + floor;
    error = std::max(whole - rounding, 0.0);
    return done = whole <= distance + rounding && std::isfinite(rounding);
  }

  double bound(double step, double share) const {  // share: of the weight that is near; see certified.py
    double length = std::fabs(step), p = phi - 1;
    double most = length / std::max(1 - share, 1e-9), least = length / (1 + share * 2 * (1 - p) / p);
    if (two_sided > 0 && most <= two_sided) return std::max(most - length, length - least);
    return most <= one_sided ? most : INFINITE;
  }

  void step(const Sums& sums) {
    if (done) return;
    passes++;
    double step = sums.score / (sums.weight * (phi - 1)), onward = sums.score / (sums.slope * (phi - 1));
    narrow(sums.score);
    if (finish(bound(step, sums.near / sums.weight))) return set(y + step);
    double newton = y + onward, size = std::fabs(sums.score), across = y + std::copysign(distance * 0.8, onward);
    bool stuck = std::fabs(onward) < distance / 4 && across > low && across < high;
    bool quick = newton > low && newton < high && size <= last_score * 0.5;
    y = (float)(stuck ? across : quick ? newton : (low + high) / 2);
    last_score = quick && !stuck ? size : INFINITE;
  }

  // With p = phi - 1, q = 2 - phi and f(d) = sign(d) |d|^p: values with |d| >= near, of which `score` = sum f(d),
  // `weight` = sum |d|^-q and `bend` = sum |d|^(-q-1) are known, score about y + e, |e| <= near / 2, what the line
  // score - p e weight says but for p q e^2 / 2 2^(1+q) bend, since f'' is largest at |d| / 2.  Their slope there is at
  // least p weight 2^-q.  The others, `count` of them, are counted as they are: score_near(e).
  template <class Score>
  void step_listed(double score, double weight, double bend, int count, Score score_near) {
    if (done) return;
    passes++;
    double p = phi - 1, q = 2 - phi, here = score + score_near(0);
    narrow(here);
    double slope = p * weight + count * std::pow(near / unit, -q), e = here / slope;  // on average over the near ones
    double end = std::copysign(near / 2, here), beyond = score - p * end * weight + score_near(end);
    if (!(std::fabs(e) < near / 2) || !(beyond * here <= 0)) {
      double newton = y + e;
      y = (float)(newton > low && newton < high ? newton : (low + high) / 2);
      return;
    }
    double least = std::min(end, 0.0), most = std::max(end, 0.0), value = here;
    auto distance_of = [&](double off) { return off == 0 ? 0 : std::fabs(off) / (p * weight * std::pow(2.0, -q)); };
    for (int i = 0; i < 40; i++) {
      double last = value;
      value = score - p * e * weight + score_near(e);
      (value > 0 ? least : most) = e;
      if (std::min(most - least, distance_of(value)) <= distance * 0.02) break;
      double newton = e + value / slope;
      e = newton > least && newton < most && std::fabs(value) <= std::fabs(last) / 2 ? newton : (least + most) / 2;
    }
    double longest = std::fabs(e) + distance, remainder = p * q * longest * longest * std::pow(2.0, q) * bend;
    finish(std::min(most - least, distance_of(value)) + distance_of(remainder));
    set(y + e);
  }

  bool squares_lost() const { return !(high - low >= 2 * SMALLEST_SD) || std::isinf(var); }
};
