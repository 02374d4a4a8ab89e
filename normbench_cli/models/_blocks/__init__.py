"""Building blocks of the networks.

    factory.py           LayerFactory: operations with their norm and activation, in the order that the norm requires
    residual.py          residual blocks, and the base class of all ResNets here
    pooling.py           pooling whose gradient keeps the memory format
    graph.py             modules called with (x, batch), sums over neighbors and over a graph's nodes
    graph_classifier.py  the network around GCN and GIN
    onednn_linear.py     linear layers over many rows, by oneDNN where it is faster

A network makes all layers through one `LayerFactory`, which knows where the norm goes; so every norm works in every
network, and neither refers to the other:

    placement   conv_norm_act       norm_act_conv       classifier      bias of the operation
    after       op norm act         norm act op         op              unless the norm removes the mean
    before      norm op act         act norm op         norm op         yes
    weight      op' act             act op'             op'             yes (op' is op with a norm on its weight)

Shapes: images are (N, C, H, W) and logits (N, num_classes).  Graphs are joined: x is (nodes, features), and `batch` is
a `graph.GraphInput`.
"""
