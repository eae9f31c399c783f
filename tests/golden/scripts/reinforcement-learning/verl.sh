python3 -m verl.trainer.main_ppo data.train_batch_size=1024 actor_rollout_ref.model.path=Qwen/Qwen2-7B trainer.nnodes=1
