// What Python calls for batches of graphs: each thread takes a part of the graphs.

#include "graphs.h"

template <class Body>
static void each_tile(const GraphArguments& g, int threads, Body body) {  // body(tile, graph, part)
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < threads; part++)
    for (int64_t graph = g.graphs * part / threads; graph < g.graphs * (part + 1) / threads; graph++)
      for (int64_t c = 0; c < g.channels && g.first[graph] < g.first[graph + 1]; c += LANES)
        body(
            GraphTile{g.first[graph], g.first[graph + 1], c, g.channels, (int)std::min<int64_t>(LANES, g.channels - c)},
            graph, part);
}

// x, y: (rows, channels); parameters: weight, bias, alpha, phi; found: mean, mu, scale, floor, unit, (graphs, channels)
// each; counts: medians, sum of passes, most passes, medians that are not certified, largest error in standard
// deviations and in standard errors.  Returns whether values are extreme; then nothing else counts.
extern "C" int normbench_graphs_forward(int64_t graphs, int64_t channels, const int64_t* first, int root,
                                        const float* x, float* y, const float* const* parameters, double eps,
                                        double tol, float* const* found, double* counts, int threads) {
  const GraphArguments g{graphs, channels, first,    parameters[0], parameters[1], parameters[2], parameters[3],
                         eps,    tol,      found[0], found[1],      found[2],      found[3],      found[4]};
  std::vector<GraphCounts> of_parts(threads);
  each_tile(g, threads, [&](const GraphTile& tile, int64_t graph, int part) {
    if (root)
      search_graph<true>(tile, x, g, graph, of_parts[part]);
    else
      search_graph<false>(tile, x, g, graph, of_parts[part]);
    normalize_graph(tile, x, y, g, graph);
  });
  GraphCounts whole;
  for (const GraphCounts& part : of_parts) whole.add(part);
  const double all_counts[] = {whole.number,      whole.passes, whole.most_passes,
                               whole.unconverged, whole.error,  whole.error_in_standard_errors};
  std::copy_n(all_counts, 6, counts);
  return whole.extreme;
}

// gradients: four rows, of weight, bias, alpha and phi; learned: phi is.
extern "C" void normbench_graphs_backward(int64_t graphs, int64_t channels, const int64_t* first, int root, int learned,
                                          const float* dy, const float* x, float* dx, const float* const* parameters,
                                          float* const* found, float* gradients, int threads) {
  const GraphArguments g{graphs, channels, first,    parameters[0], parameters[1], parameters[2], parameters[3],
                         0,      0,        found[0], found[1],      found[2],      found[3],      found[4]};
  std::vector<double> sums((size_t)threads * 4 * channels);
  each_tile(g, threads, [&](const GraphTile& tile, int64_t graph, int part) {
    double* own = sums.data() + (size_t)part * 4 * channels;
    if (root)
      graph_gradient<true, false>(tile, dy, x, dx, g, graph, own);
    else if (learned)
      graph_gradient<false, true>(tile, dy, x, dx, g, graph, own);
    else
      graph_gradient<false, false>(tile, dy, x, dx, g, graph, own);
  });
  for (int64_t i = 0; i < 4 * channels; i++) {
    double sum = 0;
    for (int part = 0; part < threads; part++) sum += sums[(size_t)part * 4 * channels + i];
    gradients[i] = (float)sum;
  }
}
