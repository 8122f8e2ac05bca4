"""Drawing a network with relay_viz: text, a parser of one's own, and Graphviz."""
import os
import tempfile

import numpy as np

import tvm
from tvm import relay
from tvm.contrib import relay_viz
from tvm.contrib.relay_viz.dot import DotPlotter, DotVizParser
from tvm.contrib.relay_viz.interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode, VizParser
from tvm.contrib.relay_viz.terminal import TermGraph, TermPlotter, TermVizParser


def get_model():
    data = relay.var("data", shape=(1, 3, 16, 16))
    weight = relay.var("weight", shape=(8, 3, 3, 3))
    bias = relay.var("bias", shape=(8,))
    conv = relay.nn.conv2d(data, weight, channels=8, kernel_size=(3, 3), padding=(1, 1))
    out = relay.nn.relu(relay.nn.bias_add(conv, bias))
    out = relay.add(out, relay.nn.global_avg_pool2d(out))
    mod = tvm.IRModule.from_expr(relay.Function([data, weight, bias], out))
    params = {"weight": np.random.rand(8, 3, 3, 3).astype("float32"), "bias": np.zeros(8, "float32")}
    return mod, params


mod, params = get_model()
work = tempfile.mkdtemp()

viz = relay_viz.RelayVisualizer(relay_mod=mod, relay_param=params, plotter=TermPlotter(), parser=TermVizParser())
viz.render()
viz.render(os.path.join(work, "network.txt"))
text = open(os.path.join(work, "network.txt")).read()
assert "nn.conv2d" in text and "Var(Param)" in text and "as above" in text


# A parser that names the producer of a convolution, and leaves all else to the default.
class YourAwesomeParser(VizParser):
    def __init__(self):
        self.delegate = TermVizParser()

    def get_node_edges(self, node, relay_param, node_to_id):
        if isinstance(node, relay.Call) and node.op == relay.op.get("nn.conv2d"):
            viz_node = VizNode(node_to_id[node], "Conv2D", f"kernel_size: {node.attrs.kernel_size}")
            return viz_node, [VizEdge(node_to_id[arg], node_to_id[node]) for arg in node.args]
        return self.delegate.get_node_edges(node, relay_param, node_to_id)


class Counter(VizGraph):
    def __init__(self, name):
        self.name, self.nodes, self.edges = name, [], []

    def node(self, viz_node):
        self.nodes.append(viz_node)

    def edge(self, viz_edge):
        self.edges.append((viz_edge.start, viz_edge.end))


class CounterPlotter(Plotter):
    def __init__(self):
        self.graphs = []

    def create_graph(self, name):
        self.graphs.append(Counter(name))
        return self.graphs[-1]

    def render(self, filename):
        for graph in self.graphs:
            print(graph.name, len(graph.nodes), "nodes", len(graph.edges), "edges")


plotter = CounterPlotter()
relay_viz.RelayVisualizer(mod, relay_param=params, plotter=plotter, parser=YourAwesomeParser()).render()
kinds = [n.type_name for n in plotter.graphs[0].nodes]
assert kinds.count("Conv2D") == 1 and plotter.graphs[0].name == "main"
identities = {n.identity for n in plotter.graphs[0].nodes}
assert all(a in identities and b in identities for a, b in plotter.graphs[0].edges)


def get_node_attr(node):
    if "nn.conv2d" in node.type_name and "channels" in node.detail:
        return {"fillcolor": "green", "style": "filled", "shape": "box"}
    return {"shape": "box"}


dot_plotter = DotPlotter(graph_attr={"color": "red"}, node_attr={"color": "blue"}, get_node_attr=get_node_attr)
relay_viz.RelayVisualizer(mod, relay_param=params, plotter=dot_plotter, parser=DotVizParser()).render(os.path.join(work, "net"))
dot = open(os.path.join(work, "net")).read()
assert dot.startswith("digraph") and "fillcolor" in dot and "->" in dot


class NamedGraphs(TermPlotter):
    """A plotter that keeps graphs of its own where the one for terminals keeps them."""

    def create_graph(self, name):
        self._name_to_graph[name] = TermGraph(name.upper())
        return self._name_to_graph[name]


own = NamedGraphs()
relay_viz.RelayVisualizer(mod, params, own).render()
assert list(own._name_to_graph) == ["main"]
