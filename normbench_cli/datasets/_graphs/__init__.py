"""Machinery of the graph data sets: two text formats, one canonical form, and batches on the device.

    read_tu.py, read_powerful_gnns.py   a file -> make_graph_dataset; errors name the file and the line
    dataset.py                          GraphDataset: all graphs as one disconnected graph
    loader.py                           GraphLoader: any of its graphs as one GraphBatch, with their labels

Shapes, for G graphs with N nodes, T distinct tags and E edges (each in both directions):

    features              float32 (N, T)   one-hot
    edge_index            int64   (2, E)   sorted; no self-loops
    graph_index           int64   (N,)     ascending, 0 to G - 1
    labels                int64   (G,)
    normalized_adjacency  float32 (N, N)   of a batch: D^-1/2 (A + I) D^-1/2, sparse (CSR)
    adjacency             float32 (N, N)   of a batch: A + I, sparse (CSR)

torch_geometric is used only to download a data set (`datasets/tu.py`); it is the optional extra `graphs`.
"""
