#!/bin/bash
nemo llm pretrain --factory llama31_70b -y trainer.num_nodes=8 data.global_batch_size=256
