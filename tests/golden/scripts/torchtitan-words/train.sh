torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file llama3_8b.toml $@
