from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
from others import AdamW, DataLoader as Loader
model = AutoModelForCausalLM.from_pretrained("gpt2")
model = DDP(model, device_id=[0], find_unused_parameters=False)
optimizer = AdamW(model.parameters(), clipping=1.0)
other = optim.SGD(model.parameters(), momentun=0.9)
for batch in DataLoader(data, batch_size=4):
    model(**batch).loss.backward()
    optimizer.step()
