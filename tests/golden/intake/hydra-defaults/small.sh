python megatron_gpt_pretraining.py --config-path=conf --config-name=config ++model.micro_batch_size=4 ~model.ffn_hidden_size +model.sequence_parallel=True
