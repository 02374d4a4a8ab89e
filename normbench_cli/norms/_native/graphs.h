// Normalization about the median of each graph of a batch, forward and backward: padded.py has the equations.  LANES
// features of a graph are searched together, by the steps of certified.py, while its rows are in the cache.
#pragma once

#include <vector>

#include "search.h"
#include "vector.h"

constexpr int MOST_GRAPH_PASSES = 80;
constexpr float SMALLEST_ORDINARY = 0x1p-40f, LARGEST_ORDINARY = 0x1p40f;

struct GraphArguments {
  int64_t graphs, channels;
  const int64_t* first;                      // row of each graph, and the number of rows
  const float *weight, *bias, *alpha, *phi;  // one a feature
  double eps, tol;
  float *mean, *mu, *scale, *floor, *unit;  // one a graph and feature: results of the forward pass
};

struct GraphCounts {  // over medians
  double number = 0, passes = 0, most_passes = 0, unconverged = 0, error = 0, error_in_standard_errors = 0;
  bool extreme = false;  // values so large or small that they have to be scaled first

  void add(const GraphCounts& other) {
    number += other.number, passes += other.passes, unconverged += other.unconverged, extreme |= other.extreme;
    most_passes = std::max(most_passes, other.most_passes), error = std::max(error, other.error);
    error_in_standard_errors = std::max(error_in_standard_errors, other.error_in_standard_errors);
  }
};

INLINE Floats either(Ints mask, Floats a, Floats b) { return mask ? a : b; }
INLINE Ints is_finite(Floats x) { return magnitude(x) < INFINITY; }

// LANES features of one graph
struct GraphTile {
  int64_t from, to, channel, channels;
  int width;

  double rows() const { return (double)(to - from); }

  template <class Body>
  INLINE void each(Body body) const {
    for (int64_t r = from; r < to; r++) body(r * channels + channel);
  }

  INLINE Floats read(const float* p, int64_t at) const { return width == LANES ? load(p + at) : load(p + at, width); }
  INLINE void write(float* p, int64_t at, Floats v) const {
    width == LANES ? store(p + at, v) : store(p + at, v, width);
  }
};

template <bool ROOT>
void search_graph(const GraphTile& tile, const float* x, const GraphArguments& g, int64_t graph, GraphCounts& counts) {
  const float n = (float)tile.rows();
  const Floats phi = tile.read(g.phi, tile.channel), rounding = all((float)ROUNDING), tiny = all((float)TINY);
  Floats sum = {}, square = {}, cube = {}, low = all(INFINITY), high = all(-INFINITY);
  tile.each([&](int64_t at) {
    Floats v = tile.read(x, at);
    sum += v, low = minimum(low, v), high = maximum(high, v);
  });
  const Floats mean = sum / n;
  tile.each([&](int64_t at) {
    Floats d = tile.read(x, at) - mean;
    square += d * d, cube += d * d * d;
  });
  const Floats var = square / n;
  Floats sd, finite_sd = either(is_finite(var), var, Floats{});
  for (int l = 0; l < LANES; l++) sd[l] = std::sqrt(finite_sd[l]);
  const Floats floor = maximum(sd * (float)FLOOR, tiny), unit = maximum(high - low, tiny),
               size = maximum(magnitude(low), magnitude(high));
  const Ints lanes = first_lanes(tile.width), unusual = (size < SMALLEST_ORDINARY) | (size > LARGEST_ORDINARY);
  counts.extreme |= bits_of(lanes & unusual & (size != 0) & is_finite(size)) != 0;

  // the target accuracy, as in `certified.target_accuracy`
  const Floats distance = maximum(maximum(sd * (float)(g.tol / std::sqrt(n)), sd * (float)TOLERANCE), floor * 2.0f);
  const Floats bend = magnitude(phi - 2.0f),
               slope = either(phi > 2.0f, maximum(bend, all(1)), maximum(bend, all(1e-3f)));
  const Ints both = (phi >= (float)TWO_SIDED_FROM) & (phi <= 2.0f);
  const Floats reach = (distance + magnitude(mean) * rounding) *
                       either(both, all((float)(REACH_IN_TOLERANCES * std::pow(n, 1.0 / 6))), slope);
  const Floats one_sided = reach / slope, two_sided = either(both, reach * 0.5f, Floats{}), p = phi - 1.0f;

  const Floats offset = cube / n / maximum(var, tiny) * ((phi - 2.0f) / 6.0f),
               half = sd * 0.5f;  // Edgeworth's expansion
  const Floats expected = minimum(maximum(either(offset == offset, offset, Floats{}), -half), half);
  Floats y = minimum(maximum(mean + expected, low), high), last_score = all(INFINITY), error = all(INFINITY),
         passes = {};
  Ints done = ~is_finite(mean) | ~lanes;
  const Weights<ROOT> weights{phi - 2.0f, -(phi - 2.0f) * log2(unit)};
  for (int pass = 0; pass < MOST_GRAPH_PASSES && bits_of(~done); pass++) {
    Floats score = {}, weight = {}, near = {};
    tile.each([&](int64_t at) {
      Floats d = tile.read(x, at) - y, away = maximum(magnitude(d), floor), w = weights(away);
      score += d * w, weight += w, near += w * minimum((ROOT ? w * w : near_inverse(away)) * reach, all(1));
    });
    const Floats step = score / (weight * p), length = magnitude(step), share = near * 1.001f / weight;
    low = either((score > 0) & ~done, maximum(low, y), low), high = either((score < 0) & ~done, minimum(high, y), high);
    const Floats most = length / maximum(1.0f - share, all(1e-9f)),
                 least = length / (1.0f + share * 2.0f * (1.0f - p) / p);
    const Floats two = maximum(most - length, length - least), one = either(most <= one_sided, most, all(INFINITY));
    const Floats bound = minimum(either((two_sided > 0) & (most <= two_sided), two, one), high - low) + floor;
    const Floats off = magnitude(y) * rounding, newton = y + step,
                 across = y + either(step < 0, -distance, distance) * 0.8f;
    const Ints finished = (bound <= distance + off) & is_finite(off);
    const Ints quick = (newton > low) & (newton < high) & (magnitude(score) <= last_score * 0.5f);
    const Ints stuck = (length < distance * 0.25f) & (across > low) & (across < high);
    Floats target = either(stuck, across, either(quick, newton, (low + high) * 0.5f));
    target = either(finished, minimum(maximum(newton, low), high), target);
    y = either(done, y, target), error = either(done, error, maximum(bound - off, Floats{}));
    last_score = either(quick & ~stuck, magnitude(score), all(INFINITY)), passes += either(done, Floats{}, all(1));
    done |= finished;
  }
  const Floats mu = either(is_finite(mean), y, all(NAN)), center = tile.read(g.alpha, tile.channel) * mu,
               shift = mean - center;
  const int64_t at = graph * tile.channels + tile.channel;
  tile.write(g.mean, at, mean), tile.write(g.mu, at, mu), tile.write(g.floor, at, floor), tile.write(g.unit, at, unit);
  tile.write(g.scale, at, inverse_root(var + shift * shift + (float)g.eps));
  const Floats in_sd = maximum(error - tiny, Floats{}) / (sd + magnitude(mean) * rounding + tiny);
  for (int l = 0; l < tile.width; l++) {
    const double found = std::isfinite(in_sd[l]) ? in_sd[l] : INFINITE;
    counts.number++, counts.passes += passes[l], counts.unconverged += !done[l];
    counts.most_passes = std::max<double>(counts.most_passes, passes[l]), counts.error = std::max(counts.error, found);
    counts.error_in_standard_errors = std::max(counts.error_in_standard_errors, found * std::sqrt(n));
  }
}

inline void normalize_graph(const GraphTile& tile, const float* x, float* y, const GraphArguments& g, int64_t graph) {
  const int64_t own = graph * tile.channels + tile.channel;
  const Floats center = tile.read(g.alpha, tile.channel) * tile.read(g.mu, own);
  const Floats factor = tile.read(g.scale, own) * tile.read(g.weight, tile.channel),
               shift = tile.read(g.bias, tile.channel);
  tile.each([&](int64_t at) { tile.write(y, at, (tile.read(x, at) - center) * factor + shift); });
}

// sums: of the gradients of weight, bias, alpha and phi, a row each
template <bool ROOT, bool LEARNED>
void graph_gradient(const GraphTile& tile, const float* dy, const float* x, float* dx, const GraphArguments& g,
                    int64_t graph, double* sums) {
  const int64_t own = graph * tile.channels + tile.channel;
  const float n = (float)tile.rows();
  const Floats mu = tile.read(g.mu, own), alpha = tile.read(g.alpha, tile.channel), center = alpha * mu,
               mean = tile.read(g.mean, own);
  const Floats scale = tile.read(g.scale, own), floor = tile.read(g.floor, own),
               power = tile.read(g.phi, tile.channel) - 2.0f;
  const Floats log_of_unit = log2(maximum(tile.read(g.unit, own), all((float)TINY))),
               factor = scale * tile.read(g.weight, tile.channel);
  const Weights<ROOT> weights{power, -power * log_of_unit};
  Floats sum_dy = {}, sum_dy_xhat = {}, sum_w = {}, sum_dwlog = {};
  tile.each([&](int64_t at) {
    Floats v = tile.read(x, at), grad = tile.read(dy, at), d = v - mu, away = maximum(magnitude(d), floor);
    sum_dy += grad, sum_dy_xhat += grad * ((v - center) * scale);
    if constexpr (LEARNED) {
      Floats logarithm = log2(away) - log_of_unit, w = exp2(power * logarithm);
      sum_w += w, sum_dwlog += d * w * logarithm;
    } else {
      sum_w += weights(away);
    }
  });
  const Floats sum_ds = factor * (sum_dy - sum_dy_xhat * (mean - center) * scale), slope = sum_dy_xhat / n * scale;
  const Floats pull = -alpha * sum_ds / maximum(sum_w, all((float)TINY));
  tile.each([&](int64_t at) {
    Floats v = tile.read(x, at);
    tile.write(dx, at,
               factor * (tile.read(dy, at) - (v - center) * slope) + pull * weights(maximum(magnitude(v - mu), floor)));
  });
  for (int l = 0; l < tile.width; l++) {
    double* of = sums + tile.channel + l;
    of[0] += sum_dy_xhat[l], of[tile.channels] += sum_dy[l], of[2 * tile.channels] -= (double)mu[l] * sum_ds[l];
    if (LEARNED) of[3 * tile.channels] += (double)pull[l] * sum_dwlog[l] * M_LN2 / (power[l] + 1);
  }
}
