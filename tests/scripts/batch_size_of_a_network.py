"""One network for several batch sizes: ChangeBatch on the input's variable, and all results."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.testing import resnet

mod, params = resnet.get_workload(batch_size=1, num_classes=4, num_layers=18, image_shape=(3, 32, 32))
data = mod["main"].params[0]
assert data.name_hint == "data"
images = np.random.RandomState(0).uniform(-1, 1, (3, 3, 32, 32)).astype("float32")


def outputs(module, x):
    return relay.create_executor("graph", mod=module, device=tvm.cpu(), target="llvm").evaluate()(x, **params).numpy()


one_by_one = np.concatenate([outputs(mod, image[None]) for image in images])
change = relay.transform.ChangeBatch({data: 0}, batch_size=3)
assert change.info.name == "ChangeBatch" and change.info.opt_level == 1
with tvm.transform.PassContext(opt_level=3):
    batched = tvm.transform.Sequential([change, relay.transform.InferType()])(mod)
assert tuple(int(d) for d in batched["main"].params[0].checked_type.shape) == (3, 3, 32, 32)
np.testing.assert_allclose(outputs(batched, images), one_by_one, rtol=1e-3, atol=1e-4)
