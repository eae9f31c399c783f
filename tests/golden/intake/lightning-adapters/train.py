import pytorch_lightning as pl
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from torch.utils.data import DataLoader
class M(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2-large"), LoraConfig(r=8, target_modules=["c_attn"]))
dl = DataLoader(ds, batch_size=8)
trainer = pl.Trainer(accelerator="gpu", devices=4, strategy="ddp", precision="16-mixed", accumulate_grad_batches=2, max_epochs=3)
trainer.fit(M(), dl)
