#!/bin/bash
for seed in 1 2 3; do
  torchrun --standalone --nproc_per_node=8 -m torchtitan.train --job.config_file llama3_8b.toml --training.seed $seed
done
