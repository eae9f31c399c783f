import lightning as L
import torch
from lightning.pytorch.strategies import FSDPStrategy
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

class Lit(L.LightningModule):
    def __init__(self, name="meta-llama/Llama-2-7b-hf"):
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained(name)
    def training_step(self, batch, idx):
        return self.model(**batch).loss
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-5)

def main():
    L.seed_everything(1)
    loader = DataLoader(torch.load("tok.pt"), batch_size=2, num_workers=8, shuffle=True)
    trainer = L.Trainer(
        accelerator="gpu",
        devices=8,
        num_nodes=2,
        precision="bf16-mixed",
        strategy=FSDPStrategy(sharding_strategy="FULL_SHARD", activation_checkpointing_policy=None),
        accumulate_grad_batches=4,
        max_steps=10000,
        gradient_clip_val=1.0,
    )
    trainer.fit(Lit(), loader)

if __name__ == "__main__":
    main()
