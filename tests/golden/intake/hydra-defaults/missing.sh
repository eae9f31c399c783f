python megatron_gpt_pretraining.py --config-path=conf --config-name=config model=huge trainer.num_nodes=4
