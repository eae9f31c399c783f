ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --pretrain meta-llama/Meta-Llama-3-8B
