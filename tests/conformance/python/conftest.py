pytest_plugins = ["tvm.testing.plugin"]
