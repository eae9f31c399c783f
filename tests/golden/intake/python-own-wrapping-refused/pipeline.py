import torch, deepspeed
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy, MixedPrecision
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM, AutoTokenizer
from torch.utils.data import DataLoader
from torch.distributed.pipelining import pipeline
model = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-8B")
stage = pipeline(model, 4)
model = DDP(stage)
loader = DataLoader(ds, batch_size=2)
opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
for batch in loader:
    loss = model(**batch).loss
    loss.backward(); opt.step()
