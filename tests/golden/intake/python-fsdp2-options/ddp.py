import torch
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from transformers import GPT2LMHeadModel
model = GPT2LMHeadModel.from_pretrained("gpt2-xl").cuda()
model = DDP(model, device_ids=[rank], bucket_cap_mb=50, gradient_as_bucket_view=True)
opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(ds, batch_size=8)
for i, b in enumerate(loader):
    with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
        loss = model(**b).loss
    loss.backward(); opt.step(); opt.zero_grad()
