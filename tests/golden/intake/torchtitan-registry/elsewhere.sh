torchrun --nproc_per_node=8 -m torchtitan.train --module qwen3 --config qwen3_32b --parallelism.tensor_parallel_degree 2
