import torch, functools
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy, MixedPrecision, CPUOffload
from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM, AutoTokenizer
from torch.utils.data import DataLoader
model = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-8B")
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate","shard"))
fully_shard(model, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
loader = DataLoader(ds, batch_size=2, sampler=sampler)
opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
for batch in loader:
    loss = model(**batch).loss
    loss.backward(); opt.step(); opt.zero_grad()
