"""Programs from PyTorch. The functions are `relay.from_torch` and `relay.frontend.from_pytorch`; PyTorch is imported when they are first used."""
