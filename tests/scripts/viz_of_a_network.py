"""relay_viz: a parser of one's own, the terminal plotter, dot files of a network."""
import os
import shutil
import tempfile

import tvm
from tvm import relay
from tvm.contrib import relay_viz
from tvm.contrib.relay_viz.dot import DotPlotter
from tvm.contrib.relay_viz.interface import DefaultVizParser, VizEdge, VizNode, VizParser
from tvm.contrib.relay_viz.terminal import TermGraph, TermPlotter, TermVizParser
from tvm.relay.testing import mlp


class NamesOnly(VizParser):
    def __init__(self):
        self._delegate = TermVizParser()
        self.seen = []

    def get_node_edges(self, node, relay_param, node_to_id):
        if isinstance(node, relay.Call) and node.op == relay.op.get("nn.dense"):
            self.seen.append(node_to_id[node])
            vnode = VizNode(node_to_id[node], "PRODUCT", "nn.dense")
            return vnode, [VizEdge(node_to_id[arg], node_to_id[node]) for arg in node.args]
        return self._delegate.get_node_edges(node, relay_param, node_to_id)


mod, params = mlp.get_workload(1)
mod = relay.transform.InferType()(mod)
parser = NamesOnly()
viz = relay_viz.RelayVisualizer(mod, params, plotter=TermPlotter(), parser=parser)
viz.render()
assert len(parser.seen) == 3
with tempfile.TemporaryDirectory() as folder:
    plotter = DotPlotter(graph_attr={"color": "red"}, node_attr={"color": "blue"}, get_node_attr=lambda node: {"shape": "box"})
    viz = relay_viz.RelayVisualizer(relay_mod=mod, relay_param=params, plotter=plotter, parser=DefaultVizParser())
    if shutil.which("dot"):
        viz.render(os.path.join(folder, "net"))
