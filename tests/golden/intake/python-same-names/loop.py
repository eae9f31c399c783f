import os, torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, MixedPrecisionPolicy
from torch.optim import AdamW as TorchAdamW
from torch.utils.data import DataLoader
from torch.utils.data import DataLoader as TorchDataLoader
from bitsandbytes.optim import AdamW
from transformers import AutoModelForCausalLM

class DataLoader(TorchDataLoader):
    def __init__(self, dataset, max_tokens=None, **rest):
        super().__init__(dataset, **rest)

class Adam(torch.optim.Adam):
    def __init__(self, params, clip=1.0, **rest):
        super().__init__(params, **rest)

mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", ep_size=1, rope_scaling=None, max_position_embeddings=8192)
for layer in model.model.layers:
    fully_shard(layer, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
fully_shard(model, mesh=mesh)
optimizer = AdamW(model.parameters(), lr=1e-5, is_paged=True)
other = Adam(model.parameters(), clip=2.0)
for batch in DataLoader(data, batch_size=2, max_tokens=8192):
    model(**batch).loss.backward()
    optimizer.step()
