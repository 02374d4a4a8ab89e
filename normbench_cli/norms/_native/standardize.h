// POP-Norm's default form, forward and backward: popnorm_kernels.py has the equations.
#pragma once

#include "layout.h"
#include "search.h"

struct StandardizeArguments {
  int64_t channels;
  const float *weight, *bias;
  double kappa, eps;
  float *mean, *var, *scale;  // one a channel: results of the forward pass, which the backward pass is given
  float *dweight, *dbias;     // results of the backward pass
};

template <class T>
class Standardize {
  struct Work {  // of a panel
    float center[LANES], factor[LANES], slope[LANES], shift[LANES];
    double sums[2][LANES];
    Total total;
  };

  const Group group;
  const StandardizeArguments& g;
  const double values;
  std::vector<Work> work;

  template <class Body>
  void each_channel(Body body) {
    for (int64_t p = 0; p < group.size(); p++)
      for (int w = 0; w < group.panels[p].width; w++) body(work[p], w, group.panels[p].channel + w);
  }

  void sum_moments(const T* x) {
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      const Floats about = panel.constant(work[p].center);
      panel.template add<2>(
          from, to,
          [=](auto place, Floats* term) {
            Floats d = place(x) - about;
            term[0] = d, term[1] = d * d;
          },
          work[p].total);
    });
    for (int64_t p = 0; p < group.size(); p++) group.panels[p].template read<2>(work[p].total, work[p].sums);
  }

 public:
  Standardize(const Layout& layout, int64_t number, const StandardizeArguments& g)
      : group(layout, number), g(g), values(layout.values()), work(group.size()) {}

  void forward(const T* x, T* y) {
    for (int64_t p = 0; p < group.size(); p++) group.panels[p].sample_mean(x, group.runs, work[p].center);
    sum_moments(x);
    bool far = false;
    each_channel([&](Work& k, int w, int64_t) {
      double shift = k.sums[0][w] / values;
      if (shift * shift <= k.sums[1][w] / values * FAR) return;
      far = true, k.center[w] = (float)(k.center[w] + shift);
    });
    if (far) sum_moments(x);  // squares about a point so far away lose digits
    each_channel([&](Work& k, int w, int64_t c) {
      double shift = k.sums[0][w] / values, square = k.sums[1][w] / values, beta = g.bias[c];
      double mean = k.center[w] + shift, var = std::max(square - shift * shift, 0.0);
      if (!std::isfinite(square) || square > LARGEST_FLOAT) var = INFINITE;
      double scale = 1 / std::sqrt(var + beta * beta + g.eps);
      g.mean[c] = (float)mean, g.var[c] = (float)var, g.scale[c] = (float)scale;
      k.center[w] = (float)(mean - beta), k.factor[w] = (float)(scale * g.weight[c] / g.kappa);
    });
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      const Floats center = panel.constant(work[p].center), factor = panel.constant(work[p].factor);
      panel.each(from, to, [=](auto place) { place.put(y, (place(x) - center) * factor); });
    });
  }

  void backward(const T* dy, const T* x, T* dx) {
    each_channel([&](Work& k, int w, int64_t c) { k.center[w] = g.mean[c] - g.bias[c]; });
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      const Floats center = panel.constant(work[p].center);
      panel.template add<2>(
          from, to,
          [=](auto place, Floats* term) {
            Floats grad = place(dy);
            term[0] = grad, term[1] = grad * (place(x) - center);
          },
          work[p].total);
    });
    for (int64_t p = 0; p < group.size(); p++) group.panels[p].template read<2>(work[p].total, work[p].sums);
    each_channel([&](Work& k, int w, int64_t c) {
      double scale = g.scale[c], factor = scale * g.weight[c] / g.kappa, sum_dy_u = k.sums[1][w] * scale;
      double dbias = factor * (k.sums[0][w] - sum_dy_u * scale * g.bias[c]);
      g.dweight[c] = (float)(sum_dy_u / g.kappa), g.dbias[c] = (float)dbias;
      k.factor[w] = (float)factor, k.slope[w] = (float)(factor * scale * sum_dy_u / values),
      k.shift[w] = (float)(dbias / values);
    });
    group.blocks([&](int64_t p, int64_t from, int64_t to) {
      const Panel& panel = group.panels[p];
      Work& k = work[p];
      const Floats center = panel.constant(k.center), factor = panel.constant(k.factor),
                   slope = panel.constant(k.slope);
      const Floats shift = panel.constant(k.shift);
      panel.each(from, to,
                 [=](auto place) { place.put(dx, place(dy) * factor - (place(x) - center) * slope - shift); });
    });
  }
};
