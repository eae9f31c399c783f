import pytorch_lightning as pl
trainer = pl.Trainer(accelerator="gpu", devices=8, num_nodes=2, strategy="fsdp", precision="bf16-mixed", accumulate_grad_batches=4)
