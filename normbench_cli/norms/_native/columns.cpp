// What Python calls: normalization about the generalized geometric median, forward and backward, on the processor's
// cores. Each group of channels is one thread's, from its first pass to its last.

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "backward.h"
#include "forward.h"
#include "standardize.h"

constexpr size_t LARGE = size_t(16) << 20;  // bytes; blocks this large are unmapped when freed, and mapped again

// Requests huge pages for a large output: the kernel allocates and zeroes them at a fraction of the cost.
static void prepare_memory(void* memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  uintptr_t page = 4096, from = ((uintptr_t)memory + page - 1) / page * page,
            to = ((uintptr_t)memory + bytes) / page * page;
  if (bytes >= LARGE) madvise((void*)from, to - from, MADV_HUGEPAGE);
#endif
}

template <class T, bool ROOT>
static int64_t forward(const Layout& layout, const void* x, void* y, const ForwardArguments& g, double* passes,
                       int threads) {
  int64_t left = 0;
  double made = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : left, made) schedule(static)
  for (int64_t i = 0; i < layout.groups; i++) {
    Forward<T, ROOT> group(layout, i, (const T*)x, (T*)y, g);
    left += group.run();
    made += group.passes;
  }
  *passes = made / (double)layout.channels;
  return left;
}

template <class T, bool ROOT, bool LEARNED>
static void backward(const Layout& layout, const void* dy, const void* x, void* dx, const BackwardArguments& g,
                     int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < layout.groups; i++)
    Backward<T, ROOT, LEARNED>(layout, i, (const T*)dy, (const T*)x, (T*)dx, g).run();
}

// Updates the layer's buffers (buffers.py): where the next search starts, the solver's totals, and the largest error
// bound in standard errors.
static void update(const ForwardArguments& g, double values, const Buffers& buffers) {
  double passes = 0, most = buffers.totals[2], unconverged = 0, error = 0;
  for (int64_t c = 0; c < g.channels; c++) {
    passes += g.passes[c], unconverged += g.done[c] == 0;
    most = std::max<double>(most, g.passes[c]), error = std::max<double>(error, g.error[c]);
    buffers.start[c] = g.new_offset[c] - (g.new_offset[c] - buffers.start[c]) * 0.5f;
    if (std::isfinite(g.mu[c])) buffers.center[c] = g.mu[c];
  }
  const double share = 1.0 / (double)g.channels;
  float* totals = buffers.totals;
  totals[0] += 1, totals[1] = (float)(totals[1] + passes * share), totals[2] = (float)most;
  totals[3] = (float)(totals[3] + unconverged * share), totals[4] = (float)std::max<double>(totals[4], error);
  *buffers.largest_error = std::max(*buffers.largest_error, (float)(error * std::sqrt(values)));
}

// x, y: (samples, channels, positions), of bfloat16 if `half`, else of float32; root: phi is 1.5.  start, center,
// totals, largest_error: the layer's buffers, updated only if every channel is certified.  fit, search:
// results, six and three for each channel; passes: of the search over the data, on average.  Returns the number of
// channels that are not certified, or whose squares over- or underflow.
extern "C" int64_t normbench_forward(int64_t samples, int64_t channels, int64_t positions, int half, int root,
                                     int above_two, const void* x, void* y, const float* weight, const float* bias,
                                     const float* phi, float* start, float* center, float* totals,
                                     float* largest_error, double eps, double tol, float* fit, float* search,
                                     double* passes, int threads) {
  const Layout layout(samples, channels, positions, threads);
  const ForwardArguments g(channels, weight, bias, phi, start, center, eps, tol, above_two != 0, fit, search);
  prepare_memory(y, samples * channels * positions * (half ? 2 : 4));
  auto run = [&](auto kind) {
    using T = decltype(kind);
    return root ? forward<T, true>(layout, x, y, g, passes, threads)
                : forward<T, false>(layout, x, y, g, passes, threads);
  };
  const int64_t left = half ? run(BFloat16()) : run(float());
  if (!left) update(g, layout.values(), {start, center, totals, largest_error});
  return left;
}

// dy, x, dx as x above; learned: phi is; fit: of the forward pass; dweight, dbias, dphi: results, the last
// where phi is learned.
extern "C" void normbench_backward(int64_t samples, int64_t channels, int64_t positions, int half, int root,
                                   int learned, int above_two, const void* dy, const void* x, void* dx,
                                   const float* weight, const float* phi, const float* fit, float* dweight,
                                   float* dbias, float* dphi, int threads) {
  const Layout layout(samples, channels, positions, threads);
  const BackwardArguments g(channels, weight, phi, fit, above_two != 0, dweight, dbias, dphi);
  prepare_memory(dx, samples * channels * positions * (half ? 2 : 4));
  auto run = [&](auto kind) {
    using T = decltype(kind);
    if (root)
      backward<T, true, false>(layout, dy, x, dx, g, threads);
    else if (learned)
      backward<T, false, true>(layout, dy, x, dx, g, threads);
    else
      backward<T, false, false>(layout, dy, x, dx, g, threads);
  };
  if (half)
    run(BFloat16());
  else
    run(float());
}

// dy: null in the forward pass, whose output is `out`, otherwise out is dx; row: mean, var, scale, dweight, dbias.
extern "C" void normbench_standardize(int64_t samples, int64_t channels, int64_t positions, int half, const void* dy,
                                      const void* x, void* out, const float* weight, const float* bias, double kappa,
                                      double eps, float* const* row, int threads) {
  const Layout layout(samples, channels, positions, threads);
  const StandardizeArguments g{channels, weight, bias, kappa, eps, row[0], row[1], row[2], row[3], row[4]};
  prepare_memory(out, samples * channels * positions * (half ? 2 : 4));
  auto run = [&](auto kind) {
    using T = decltype(kind);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < layout.groups; i++) {
      Standardize<T> group(layout, i, g);
      if (dy)
        group.backward((const T*)dy, (const T*)x, (T*)out);
      else
        group.forward((const T*)x, (T*)out);
    }
  };
  if (half)
    run(BFloat16());
  else
    run(float());
}
