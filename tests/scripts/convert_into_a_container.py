"""A converter's container: compiles, saves with parameters, and loads."""
import os, json, numpy as np, tvm
from tvm import relay
from tvm.contrib import graph_executor


class CompiledModel:

    def __init__(self, mod, params, ctx, target, pad=True):
        self.ctx = ctx
        config = {'tir.disable_vectorize': True, 'relay.FuseOps.max_depth': 50}
        with tvm.transform.PassContext(opt_level=3, config=config):
            self.graph, self.lib, self.params = relay.build(mod, target=target, params=params)
        self.model = graph_executor.create(self.graph, self.lib, self.ctx)
        self.model.set_input(**self.params)

    def __call__(self, **kw):
        for k, v in kw.items():
            self.model.set_input(k, tvm.nd.array(v, self.ctx))
        self.model.run()
        return [self.model.get_output(i).asnumpy() for i in range(self.model.get_num_outputs())]

    def save(self, d):
        self.lib.export_library(os.path.join(d, 'deploy.tar'))
        open(os.path.join(d, 'deploy_graph.json'), 'w').write(self.graph)
        open(os.path.join(d, 'deploy_param.params'), 'wb').write(relay.save_param_dict(self.params))


import tempfile

x = relay.var('input_0', shape=(8, 4))
w = relay.var('w', shape=(3, 4))
z = relay.nn.dense(x, w)
lab = relay.argmax(z, axis=1)
prob = relay.nn.softmax(z, axis=1)
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.Tuple([lab, prob])))
ctx = tvm.cpu()
target = tvm.target.Target(target='llvm', host='llvm')
c = CompiledModel(mod, {'w': np.eye(3, 4, dtype='float32')}, ctx, target)
data = np.random.rand(8, 4).astype('float32')
lab, prob = c(input_0=data)
assert (lab == data[:, :3].argmax(1)).all() and prob.shape == (8, 3)
d = tempfile.mkdtemp()
c.save(d)
lib = tvm.runtime.module.load_module(os.path.join(d, 'deploy.tar'))
m = graph_executor.create(open(os.path.join(d, 'deploy_graph.json')).read(), lib, ctx)
m.load_params(open(os.path.join(d, 'deploy_param.params'), 'rb').read())
m.set_input('input_0', data)
m.run()
assert (m.get_output(0).asnumpy() == lab).all()
