// How the loops see columns: in panels, each a channel of (samples, channels, positions) or LANES neighboring channels
// of (rows, channels); and in groups of neighboring panels, whose runs of values are read together.
#pragma once

#include <algorithm>
#include <vector>

#include "vector.h"

constexpr int FLUSH = 256;            // vectors that are added in float32 before they are added in float64
constexpr int64_t GROUP_WIDTH = 256;  // values of a group that lie beside each other, where there are so many
constexpr int64_t BLOCK = 2048;     // values of a group that are read before each panel's turn: they stay in the cache
constexpr int64_t SHORT_RUN = 256;  // values; the hardware prefetcher does not predict where the next short run begins
constexpr int64_t RUNS_AHEAD = 16;
constexpr int64_t SAMPLED_VECTORS = 32, SAMPLED_ROWS = 128;

struct Whole {  // the LANES values from a place on
  int64_t at, ahead;

  template <class T>
  INLINE Floats operator()(const T* values) const {
    if (ahead) __builtin_prefetch(values + at + ahead);
    return load(values + at);
  }

  template <class T>
  INLINE void put(T* values, Floats v) const {
    store(values + at, v);
  }

  INLINE Floats fill(Floats v, float) const { return v; }
};

struct Part {  // the first few of them
  int64_t at;
  int count;

  template <class T>
  INLINE Floats operator()(const T* values) const {
    return load(values + at, count);
  }

  template <class T>
  INLINE void put(T* values, Floats v) const {
    store(values + at, v, count);
  }

  INLINE Floats fill(Floats v, float other) const { return first_lanes(count) ? v : all(other); }
};

struct Total {  // up to four sums of every lane
  Floats part[4] = {};
  Doubles whole[4] = {};
  int vectors = 0;
};

struct Panel {
  int64_t start, run, stride, ahead;  // in values: of the first run, a run's length, from one run to the next
  bool is_channel;                    // all lanes are one channel
  int64_t channel;                    // the first, and how many
  int width;

  INLINE Floats constant(const float* of_channels) const {
    return is_channel ? all(of_channels[0]) : load(of_channels);
  }

  template <class Body>
  INLINE void each(int64_t from, int64_t to, Body body) const {
    const int64_t run = this->run, stride = this->stride, ahead = this->ahead;  // a store could change the members
    int64_t r = from, at = start + from * stride;
    if (run == LANES) {  // without an inner loop
      for (; r < to; r++, at += stride) body(Whole{at, ahead});
      return;
    }
    for (; r < to; r++, at += stride) {
      int64_t i = 0;
      for (; i + LANES <= run; i += LANES) body(Whole{at + i, ahead});
      if (i < run) body(Part{at + i, (int)(run - i)});
    }
  }

  template <int K, class Terms>
  INLINE void add(int64_t from, int64_t to, Terms terms, Total& total) const {
    const int64_t run = this->run, stride = this->stride, ahead = this->ahead;
    Floats part[K];
    for (int k = 0; k < K; k++) part[k] = total.part[k];
    int vectors = total.vectors;
    auto one = [&](auto place) {
      Floats term[K];
      terms(place, term);
      for (int k = 0; k < K; k++) part[k] += place.fill(term[k], 0);
    };
    auto count = [&](int number) {
      if ((vectors += number) < FLUSH) return;
      for (int k = 0; k < K; k++) total.whole[k] += __builtin_convertvector(part[k], Doubles), part[k] = Floats{};
      vectors = 0;
    };
    int64_t r = from, at = start + from * stride;
    while (run == LANES && r < to) {  // without an inner loop
      int number = (int)std::min<int64_t>(to - r, FLUSH);
      for (int j = 0; j < number; j++, r++, at += stride) one(Whole{at, ahead});
      count(number);
    }
    for (; r < to; r++, at += stride) {
      int64_t i = 0;
      while (i + LANES <= run) {
        int number = (int)std::min<int64_t>((run - i) / LANES, FLUSH);
        for (int j = 0; j < number; j++, i += LANES) one(Whole{at + i, ahead});
        count(number);
      }
      if (i < run) one(Part{at + i, (int)(run - i)}), count(1);
    }
    for (int k = 0; k < K; k++) total.part[k] = part[k];
    total.vectors = vectors;
  }

  template <int K>
  void read(Total& total, double (*out)[LANES]) const {  // the sums of its channels; clears the total
    for (int k = 0; k < K; k++) {
      Doubles whole = total.whole[k] + __builtin_convertvector(total.part[k], Doubles);
      double sum = 0;
      for (int l = 0; l < LANES; l++) sum += out[k][l] = whole[l];
      if (is_channel) out[k][0] = sum;
    }
    total = Total();
  }

  template <class T>
  void extrema(const T* x, int64_t runs, float* low, float* high) const {
    Floats least = all(INFINITY), most = all(-INFINITY);
    each(0, runs, [&](auto place) {
      least = minimum(least, place.fill(place(x), INFINITY));
      most = maximum(most, place.fill(place(x), -INFINITY));
    });
    store(low, least), store(high, most);
    if (is_channel) low[0] = *std::min_element(low, low + LANES), high[0] = *std::max_element(high, high + LANES);
  }

  template <class T, class Body>
  int64_t sample(const T* x, int64_t runs,
                 Body body) const {  // calls body(place) for a few hundred vectors and returns their number
    int64_t in_run = std::max<int64_t>(1, run / LANES), vectors = runs * in_run;
    int64_t number = std::min(is_channel ? SAMPLED_VECTORS : SAMPLED_ROWS, vectors);
    for (int64_t j = 0; j < number; j++) {
      int64_t k = j * vectors / number, at = start + k / in_run * stride + k % in_run * LANES;
      if (run < LANES)
        body(Part{at, (int)run});
      else
        body(Whole{at, 0});
    }
    return number;
  }

  // The root mean square of a sample about a point.
  template <class T>
  void spread(const T* x, int64_t runs, Floats about, float* out) const {
    Floats square = {};
    int64_t vectors = sample(x, runs, [&](auto place) {
      Floats d = place.fill(place(x) - about, 0);
      square += d * d;
    });
    average(square, vectors, out);
    for (int l = 0; l < LANES; l++) out[l] = std::sqrt(out[l]);
  }

  // The mean of a sample.
  template <class T>
  void sample_mean(const T* x, int64_t runs, float* out) const {
    Floats sum = {};
    int64_t vectors = sample(x, runs, [&](auto place) { sum += place.fill(place(x), 0); });
    average(sum, vectors, out);
  }

  void average(Floats sums, int64_t vectors, float* out) const {
    double sum = 0;
    for (int l = 0; l < LANES; l++) sum += sums[l], out[l] = sums[l] / (float)vectors;
    if (is_channel) out[0] = (float)(sum / ((double)vectors * (double)std::min<int64_t>(LANES, run)));
  }
};

struct Layout {
  int64_t runs, channels, positions, panels, in_group, groups;

  Layout(int64_t samples, int64_t channels, int64_t positions, int threads)
      : runs(samples), channels(channels), positions(positions) {
    panels = positions > 1 ? channels : (channels + LANES - 1) / LANES;
    in_group = std::max<int64_t>(1, std::min(GROUP_WIDTH / (positions > 1 ? positions : LANES), panels / threads));
    groups = (panels + in_group - 1) / in_group;
  }

  double values() const { return (double)runs * positions; }  // of a channel

  Panel panel(int64_t i) const {
    if (positions > 1) return {i * positions, positions, channels * positions, 0, true, i, 1};
    int width = (int)std::min<int64_t>(LANES, channels - i * LANES);
    return {i * LANES, width, channels, 0, false, i * LANES, width};
  }
};

struct Group {
  std::vector<Panel> panels;
  int64_t runs, block;

  Group(const Layout& layout, int64_t number) : runs(layout.runs) {
    int64_t from = number * layout.in_group, to = std::min(layout.panels, from + layout.in_group);
    for (int64_t i = from; i < to; i++) panels.push_back(layout.panel(i));
    block = to - from == 1 ? runs : std::max<int64_t>(8, BLOCK / (panels[0].run * (to - from)));
    for (Panel& p : panels)
      if (p.run <= SHORT_RUN) p.ahead = p.stride * (to - from == 1 ? RUNS_AHEAD : block);
  }

  int64_t size() const { return (int64_t)panels.size(); }

  template <class Body>
  INLINE void blocks(Body body) const {  // body(a panel's number, its first run, its last run), block by block
    for (int64_t r = 0; r < runs; r += block)
      for (int64_t p = 0; p < size(); p++) body(p, r, std::min(runs, r + block));
  }
};
