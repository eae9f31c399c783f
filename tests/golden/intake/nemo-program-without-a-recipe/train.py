import nemo.lightning as nl
from nemo.collections import llm

data = llm.PreTrainingDataModule(paths=["/data/en"], global_batch_size=64, micro_batch_size=1, seq_length=8192)
strategy = nl.MegatronStrategy(tensor_model_parallel_size=2)
llm.train(model=llm.LlamaModel(llm.Llama31Config8B()), data=data, trainer=nl.Trainer(strategy=strategy))
