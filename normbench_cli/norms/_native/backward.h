// The backward pass of a group of panels: the sums over dy, dy xhat and w, then dx.  gradient.py has the equations.
#pragma once

#include "layout.h"
#include "search.h"

struct BackwardArguments {
  const int64_t channels;
  const float *const weight, *const phi, *const mu, *const scale, *const mean, *const floor;  // weight: may be null
  const bool above_two;
  float *const dweight, *const dbias, *const dphi;  // results, one a channel; dphi only where phi is learned

  BackwardArguments(int64_t channels, const float* weight, const float* phi, const float* fit, bool above_two,
                    float* dweight, float* dbias, float* dphi)
      : channels(channels), weight(weight), phi(phi), mu(fit), scale(fit + 2 * channels), mean(fit + 4 * channels),
        floor(fit + 5 * channels), above_two(above_two), dweight(dweight), dbias(dbias), dphi(dphi) {}
};

template <class T, bool ROOT, bool LEARNED>
class Backward {
  struct Work {  // of a panel
    float mu[LANES], scale[LANES], floor[LANES], power[LANES], log_of_unit[LANES], factor[LANES], slope[LANES],
        pull[LANES];
    double sums[4][LANES];
    Total total;
  };

  const Group group;
  const T *dy, *x;
  T* dx;
  const BackwardArguments& g;
  const double values;
  std::vector<Work> work;

  void begin() {
    for (int64_t p = 0; p < group.size(); p++) {
      const Panel& panel = group.panels[p];
      Work& k = work[p];
      for (float* row : {k.mu, k.scale, k.floor, k.power, k.log_of_unit}) std::fill_n(row, LANES, 1.0f);
      for (int w = 0; w < panel.width; w++) {
        int64_t c = panel.channel + w;
        k.mu[w] = g.mu[c], k.scale[w] = g.scale[c], k.floor[w] = g.floor[c], k.power[w] = g.phi[c] - 2;
        k.log_of_unit[w] = (float)std::log2(g.floor[c] / FLOOR);
      }
      if (!g.above_two) continue;
      const Floats mu = panel.constant(k.mu);  // a power above zero would overflow in a smaller unit
      Floats most = panel.constant(k.floor);
      panel.each(0, group.runs, [&](auto place) { most = maximum(most, place.fill(magnitude(place(x) - mu), 0)); });
      for (int l = 0; l < LANES && panel.is_channel; l++) most = maximum(most, all(most[l]));
      store(k.log_of_unit, log2(most));
    }
  }

  void sum() {
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      Work& k = work[p];
      const Floats mu = panel.constant(k.mu), scale = panel.constant(k.scale), floor = panel.constant(k.floor);
      const Floats power = panel.constant(k.power), log_of_unit = panel.constant(k.log_of_unit);
      const Weights<ROOT> weights{power, -power * log_of_unit};
      panel.template add<LEARNED ? 4 : 3>(
          from, to,
          [&, x = x, dy = dy](auto place, Floats* term) {
            Floats grad = place(dy), d = place(x) - mu, distance = maximum(magnitude(d), floor);
            term[0] = grad, term[1] = grad * (d * scale);
            if constexpr (LEARNED) {
              Floats logarithm = log2(distance) - log_of_unit, w = exp2(power * logarithm);
              term[2] = w, term[3] = d * w * logarithm;
            } else {
              term[2] = weights(distance);
            }
          },
          k.total);
    });
  }

  void finish() {
    for (int64_t p = 0; p < group.size(); p++) {
      const Panel& panel = group.panels[p];
      Work& k = work[p];
      panel.template read<4>(k.total, k.sums);
      for (int w = 0; w < panel.width; w++) {
        int64_t c = panel.channel + w;
        double scale = g.scale[c], factor = scale * (g.weight ? g.weight[c] : 1), sum_dy = k.sums[0][w],
               sum_dy_xhat = k.sums[1][w];
        double pull = factor * (sum_dy_xhat * (((double)g.mean[c] - g.mu[c]) * scale) - sum_dy) / k.sums[2][w];
        g.dweight[c] = (float)sum_dy_xhat, g.dbias[c] = (float)sum_dy;
        if (LEARNED) g.dphi[c] = (float)(pull * k.sums[3][w] * M_LN2 / (g.phi[c] - 1));
        k.factor[w] = (float)factor, k.slope[w] = (float)(factor * scale * sum_dy_xhat / values),
        k.pull[w] = (float)pull;
      }
    }
  }

  void complete() {
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      Work& k = work[p];
      const Floats mu = panel.constant(k.mu), floor = panel.constant(k.floor), factor = panel.constant(k.factor);
      const Floats slope = panel.constant(k.slope), pull = panel.constant(k.pull), power = panel.constant(k.power);
      const Weights<ROOT> weights{power, -power * panel.constant(k.log_of_unit)};
      panel.each(from, to, [=, x = x, dy = dy, dx = dx](auto place) {
        Floats d = place(x) - mu;
        place.put(dx, factor * place(dy) - slope * d + pull * weights(maximum(magnitude(d), floor)));
      });
    });
  }

 public:
  Backward(const Layout& layout, int64_t number, const T* dy, const T* x, T* dx, const BackwardArguments& g)
      : group(layout, number), dy(dy), x(x), dx(dx), g(g), values(layout.values()), work(group.size()) {}

  void run() {
    begin();
    sum();
    finish();
    complete();
  }
};
