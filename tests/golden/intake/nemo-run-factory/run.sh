#!/bin/bash
nemo llm pretrain --factory llama31_70b -y trainer.num_nodes=8 trainer.devices=8 data.global_batch_size=256 data.micro_batch_size=1 \
  data.seq_length=8192 trainer.strategy.tensor_model_parallel_size=8 trainer.strategy.pipeline_model_parallel_size=1 \
  trainer.strategy.context_parallel_size=1 trainer.strategy.sequence_parallel=true
