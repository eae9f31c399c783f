import torch, functools
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy, MixedPrecision, CPUOffload
from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM, AutoTokenizer
from torch.utils.data import DataLoader
model = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-8B")
model = FSDP(model)
loader = DataLoader(ds, batch_size=2)
for i, batch in enumerate(loader):
    loss = model(**batch).loss / 8
    loss.backward()
    if (i + 1) % 8 == 0:
        opt.step(); opt.zero_grad()
