torchrun --nproc-per-node=8 OLMo2-7B.py tutorial-run-01 --train_module.rank_microbatch_size=8192 --data_loader.global_batch_size=524288 --trainer.callbacks.wandb='{enabled: true}'
