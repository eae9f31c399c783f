import deepspeed
cfg = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}
engine, *_ = deepspeed.initialize(model=m, config=cfg)
