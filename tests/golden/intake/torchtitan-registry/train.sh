torchrun --nproc_per_node=8 -m torchtitan.train --module llama3 --config llama3_8b_fp8 --parallelism.tensor_parallel_degree 2
