python megatron_gpt_pretraining.py --config-path=conf --config-name=config model=large trainer.num_nodes=4
