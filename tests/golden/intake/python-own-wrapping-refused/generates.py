import torch, deepspeed
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy, MixedPrecision
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM, AutoTokenizer
from torch.utils.data import DataLoader
model = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-8B")
ref = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-8B")
model = FSDP(model); ref = FSDP(ref)
loader = DataLoader(ds, batch_size=2)
for batch in loader:
    out = model.generate(batch)
    loss = ppo_loss(out, ref(out))
    loss.backward()
