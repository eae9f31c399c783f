import os, torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("openai-community/gpt2-medium").cuda()
model = DDP(model, device_ids=[int(os.environ["LOCAL_RANK"])])
for batch in DataLoader(data, batch_size=16):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(**batch).loss
    loss.backward()
