from nemo.collections import llm

recipe = llm.llama3_8b.pretrain_recipe(name="x", num_nodes=2, num_gpus_per_node=8)
strategy = recipe.trainer.strategy
strategy.tensor_model_parallel_size = 4
strategy.pipeline_model_parallel_size = strategy.context_parallel_size = 1
for name, value in dict(sequence_parallel=True, expert_model_parallel_size=1).items():
    setattr(strategy, name, value)
recipe.data.global_batch_size, recipe.data.micro_batch_size = 256, 4
recipe.data.seq_length = recipe.model.config.seq_length = 4096
