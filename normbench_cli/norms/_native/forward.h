// The forward pass of a group of panels: moments and a first step in one pass, passes of the search, then y.
#pragma once

#include "layout.h"
#include "search.h"

constexpr double CORE = 2;  // standard errors; the slope about the last center is an average over this distance
constexpr double CORE_OF_STEPS = 4;    // the same for a step of the search, in tolerances
constexpr double SHARE_ERROR = 1.001;  // of `near_inverse`
constexpr int MOST_PASSES = 40;
constexpr int MOST_LISTED = 256;

struct ForwardArguments {
  const int64_t channels;
  const float *const weight, *const bias, *const phi, *const offset, *const center;  // weight, bias: may be null
  const double eps, tol;
  const bool above_two;
  float *const mu, *const var, *const scale, *const new_offset, *const mean, *const floor;  // results, one a channel
  float *const error, *const passes, *const done;

  ForwardArguments(int64_t channels, const float* weight, const float* bias, const float* phi, const float* offset,
                   const float* center, double eps, double tol, bool above_two, float* fit, float* search)
      : channels(channels), weight(weight), bias(bias), phi(phi), offset(offset), center(center), eps(eps), tol(tol),
        above_two(above_two), mu(fit), var(fit + channels), scale(fit + 2 * channels), new_offset(fit + 3 * channels),
        mean(fit + 4 * channels), floor(fit + 5 * channels), error(search), passes(search + channels),
        done(search + 2 * channels) {}
};

struct Buffers {  // of the layer; see buffers.py
  float *start, *center, *totals, *largest_error;
};

template <class T, bool ROOT>
class Forward {
  struct Work {  // of a panel
    Channel channel[LANES];
    float center[LANES];  // the point about which differences are taken
    float power[LANES], least[LANES], mean[LANES], low[LANES], high[LANES];
    float spread[LANES], log_of_unit[LANES], core[LANES], top[LANES], reach[LANES];  // constants of a pass
    float mu[LANES], factor[LANES], shift[LANES];                                    // of y
    double sums[4][LANES];
    Total total;
    bool busy, listed;
    int counts[LANES];
    float list[LANES][MOST_LISTED];
  };

  const Group group;
  const T* x;
  T* y;
  const ForwardArguments& g;
  const double values;
  std::vector<Work>& work;

  template <class Body>
  void each_channel(Body body) {
    for (int64_t p = 0; p < group.size(); p++)
      for (int w = 0; w < group.panels[p].width; w++) body(work[p], w, group.panels[p].channel + w);
  }

  void begin() {
    for (int64_t p = 0; p < group.size(); p++) {
      const Panel& panel = group.panels[p];
      Work& k = work[p];
      for (float* row : {k.center, k.power, k.least, k.mean, k.low, k.high, k.spread, k.log_of_unit, k.core, k.top,
                         k.reach, k.mu, k.factor, k.shift})
        std::fill_n(row, LANES, 1.0f);
      k.total = Total();
      for (int w = 0; w < panel.width; w++) {
        k.channel[w] = Channel();
        k.channel[w].phi = g.phi[panel.channel + w];
        k.power[w] = (float)(k.channel[w].phi - 2), k.center[w] = g.center[panel.channel + w];
      }
      if (g.above_two)
        panel.extrema(x, group.runs, k.low, k.high);
      else
        panel.spread(x, group.runs, panel.constant(k.center), k.spread);
    }
  }

  void sum_moments(float (Work::*point)[LANES]) {
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      const Floats about = panel.constant(work[p].*point);
      panel.template add<2>(
          from, to,
          [&, x = x](auto place, Floats* term) {
            Floats d = place(x) - about;
            term[0] = d, term[1] = d * d;
          },
          work[p].total);
    });
  }

  void sum_about_center() {  // moments, and what a step from the center of the batch before needs
    each_channel([&](Work& k, int w, int64_t) {
      double size = std::max<double>(k.spread[w], TINY), core = size * CORE / std::sqrt(values), phi = k.channel[w].phi;
      k.least[w] = (float)std::max(size * FLOOR, TINY);
      k.log_of_unit[w] = (float)Weights<ROOT>::log_of_unit(phi, size);
      k.core[w] = (float)core;
      k.top[w] = (float)(Weights<ROOT>::of(std::max(core, TINY), phi, size) / (phi - 1));
    });
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      Work& k = work[p];
      const Floats about = panel.constant(k.center), least = panel.constant(k.least), core = panel.constant(k.core);
      const Floats top = panel.constant(k.top);
      const Weights<ROOT> weights{panel.constant(k.power), panel.constant(k.log_of_unit)};
      panel.template add<4>(
          from, to,
          [&, x = x](auto place, Floats* term) {
            Floats d = place(x) - about, distance = maximum(magnitude(d), least), w = weights.roughly(distance);
            term[0] = d, term[1] = d * d, term[2] = d * w, term[3] = distance < core ? top : w;
          },
          k.total);
    });
  }

  void read_moments() {  // and where the search begins
    bool far = false;
    for (int64_t p = 0; p < group.size(); p++) group.panels[p].template read<4>(work[p].total, work[p].sums);
    each_channel([&](Work& k, int w, int64_t) {
      double shift = k.sums[0][w] / values, square = k.sums[1][w] / values;
      k.mean[w] = (float)(k.center[w] + shift);
      far |= !(shift * shift <= square * FAR);
    });
    double again[2][LANES];
    if (far) sum_moments(&Work::mean);  // squares about a point so far away lose digits
    for (int64_t p = 0; p < group.size(); p++) {
      Work& k = work[p];
      if (far) group.panels[p].template read<2>(k.total, again);
      for (int w = 0; w < group.panels[p].width; w++) {
        Channel& channel = k.channel[w];
        double (*sums)[LANES] = far ? again : k.sums;
        double shift = sums[0][w] / values, square = sums[1][w] / values;
        double mean = (far ? k.mean : k.center)[w] + shift, var = std::max(square - shift * shift, 0.0);
        var = std::isfinite(square) && square < LARGEST_FLOAT ? var : INFINITE;
        channel.begin(mean, var, k.low[w], k.high[w], g.above_two, values, g.tol);
        channel.set(mean + g.offset[group.panels[p].channel + w] * channel.sd);
        if (!g.above_two) channel.start_near(k.center[w], k.sums[2][w], k.sums[3][w], k.least[w]);
      }
    }
  }

  bool prepare_pass() {  // false: nothing is left to search for
    bool left = false;
    for (int64_t p = 0; p < group.size(); p++) {
      Work& k = work[p];
      k.busy = false, k.listed = true;
      for (int w = 0; w < group.panels[p].width; w++) {
        const Channel& channel = k.channel[w];
        if (channel.done || !std::isfinite(channel.var)) continue;
        k.busy = left = true, k.listed &= channel.listed;
      }
      std::fill_n(k.counts, LANES, 0);
    }
    each_channel([&](Work& k, int w, int64_t) {
      const Channel& channel = k.channel[w];
      double core = channel.distance * CORE_OF_STEPS;
      k.center[w] = (float)channel.y, k.least[w] = (float)channel.floor;
      k.reach[w] = (float)channel.reach,
      k.log_of_unit[w] = (float)Weights<ROOT>::log_of_unit(channel.phi, channel.unit);
      k.core[w] = (float)(k.listed ? channel.near : g.above_two ? 0 : core);
      if (!k.listed)
        k.top[w] = (float)(Weights<ROOT>::of(std::max(core, TINY), channel.phi, channel.unit) / (channel.phi - 1));
    });
    return left;
  }

  void pass(int64_t p, int64_t from, int64_t to) {
    const Panel& panel = group.panels[p];
    Work& k = work[p];
    const Floats at = panel.constant(k.center), least = panel.constant(k.least), core = panel.constant(k.core);
    const Floats top = panel.constant(k.top), reach = panel.constant(k.reach);
    const Weights<ROOT> weights{panel.constant(k.power), panel.constant(k.log_of_unit)};
    if (!k.listed && ROOT) {  // one pass is nearly always enough: the slope at y will do
      panel.template add<3>(
          from, to,
          [&, x = x](auto place, Floats* term) {
            Floats d = place(x) - at, w = weights(maximum(magnitude(d), least));
            term[0] = d * w, term[1] = w, term[2] = w * minimum(w * w * reach, all(1));
          },
          k.total);
      return;
    }
    if (!k.listed) {
      panel.template add<4>(
          from, to,
          [&, x = x](auto place, Floats* term) {
            Floats d = place(x) - at, distance = maximum(magnitude(d), least), w = weights(distance);
            Floats share = minimum(near_inverse(distance) * reach, all(1));
            term[0] = d * w, term[1] = w, term[2] = w * share, term[3] = distance < core ? top : w;
          },
          k.total);
      return;
    }
    panel.template add<3>(
        from, to,
        [&, x = x](auto place, Floats* term) {
          Floats d = place(x) - at, distance = maximum(magnitude(d), least), w = weights(distance);
          Ints is_near = place.fill(distance, INFINITY) < core;
          if (unsigned bits = bits_of(is_near); __builtin_expect(bits != 0, 0)) {
            float each[LANES];
            for (store(each, d); bits; bits &= bits - 1) {
              int lane = __builtin_ctz(bits), c = panel.is_channel ? 0 : lane;
              k.list[c][std::min(k.counts[c]++, MOST_LISTED - 1)] = each[lane];
            }
            w = is_near ? Floats{} : w;
          }
          term[0] = d * w, term[1] = w, term[2] = w * near_inverse(distance);
        },
        k.total);
  }

  void step_listed(Work& k, int w) {
    Channel& channel = k.channel[w];
    int count = k.counts[w];
    if (count > MOST_LISTED) {  // so many values are close together that they have to be summed
      channel.listed = false, channel.passes += !channel.done;
      return;
    }
    float* list = k.list[w];
    for (int i = count; i % LANES; i++) list[i] = 0;
    const Weights<ROOT> weights{all(k.power[w]), all(k.log_of_unit[w])};
    const Floats least = all(k.least[w]);
    auto score_near = [&](double e) {
      Floats sum = {};
      for (int i = 0; i < count; i += LANES) {
        Floats d = load(list + i) - (float)e, term = d * weights(maximum(magnitude(d), least));
        sum += i + LANES <= count ? term : first_lanes(count - i) ? term : Floats{};
      }
      double whole = 0;
      for (int l = 0; l < LANES; l++) whole += sum[l];
      return whole;
    };
    channel.step_listed(k.sums[0][w], k.sums[1][w], k.sums[2][w] * SHARE_ERROR, count, score_near);
  }

  int64_t finish() {
    int64_t alone = 0;
    for (int64_t p = 0; p < group.size(); p++) {
      bool lost = false;
      for (int w = 0; w < group.panels[p].width; w++) lost |= work[p].channel[w].squares_lost();
      if (lost) group.panels[p].extrema(x, group.runs, work[p].low, work[p].high);
    }
    each_channel([&](Work& k, int w, int64_t c) {
      const Channel& channel = k.channel[w];
      bool done = channel.done && !(channel.squares_lost() && k.low[w] != k.high[w]);
      double mean = channel.mean, mu = channel.y, var = channel.var + (mean - mu) * (mean - mu);
      double scale = 1 / std::sqrt(var + g.eps), offset = (mu - mean) / channel.sd;
      double error = std::max(channel.error - TINY, 0.0) / (channel.sd + std::fabs(mean) * ROUNDING + TINY);
      g.mu[c] = (float)mu, g.var[c] = (float)var, g.scale[c] = (float)scale, g.mean[c] = (float)mean;
      g.new_offset[c] = std::isfinite(offset) ? (float)offset : 0, g.floor[c] = (float)channel.floor;
      g.error[c] = std::isfinite(error) ? (float)error : INFINITY, g.passes[c] = (float)channel.passes,
      g.done[c] = done;
      k.mu[w] = (float)mu, k.factor[w] = (float)(scale * (g.weight ? g.weight[c] : 1)),
      k.shift[w] = g.bias ? g.bias[c] : 0;
      alone += !done;
    });
    return alone;
  }

  void normalize() {
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      const Floats center = panel.constant(work[p].mu), factor = panel.constant(work[p].factor),
                   shift = panel.constant(work[p].shift);
      panel.each(from, to, [=, x = x, y = y](auto place) { place.put(y, (place(x) - center) * factor + shift); });
    });
  }

  static std::vector<Work>& memory(int64_t panels) {  // kept by each thread
    thread_local std::vector<Work> kept;
    if ((int64_t)kept.size() < panels) kept.resize(panels);
    return kept;
  }

 public:
  double passes = 0;  // over the data of a channel, summed over channels

  Forward(const Layout& layout, int64_t number, const T* x, T* y, const ForwardArguments& g)
      : group(layout, number), x(x), y(y), g(g), values(layout.values()), work(memory(group.size())) {}

  int64_t run() {  // how many channels are left that have to be solved by other means
    begin();
    if (g.above_two)
      sum_moments(&Work::center);
    else
      sum_about_center();
    read_moments();
    for (int i = 0; i < MOST_PASSES && prepare_pass(); i++) {
      group.blocks([&](int64_t p, int64_t from, int64_t to) {
        if (work[p].busy) pass(p, from, to);
      });
      for (int64_t p = 0; p < group.size(); p++) {
        Work& k = work[p];
        if (!k.busy) continue;
        passes += group.panels[p].width;
        group.panels[p].template read<4>(k.total, k.sums);
        for (int w = 0; w < group.panels[p].width; w++) {
          if (k.listed)
            step_listed(k, w);
          else
            k.channel[w].step({k.sums[0][w], k.sums[1][w], k.sums[2][w] * SHARE_ERROR,
                               g.above_two || ROOT ? k.sums[1][w] : k.sums[3][w]});
        }
      }
    }
    int64_t alone = finish();
    normalize();
    return alone;
  }
};
