#!/bin/bash
nemo llm pretrain -y --factory "llama3_8b(num_nodes=2)" trainer.strategy.tensor_model_parallel_size=2 data.global_batch_size=256 trainer.max_steps=20
