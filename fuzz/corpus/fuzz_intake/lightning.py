import lightning as L
strategy = FSDPStrategy(cpu_offload=True)
trainer = L.Trainer(devices=4, precision="16-true", strategy=strategy, accumulate_grad_batches=2)
model = LlamaForCausalLM(LlamaConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2))
loader = DataLoader(data, batch_size=2)
