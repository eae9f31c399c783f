import lightning as L
from lightning.fabric.strategies import FSDPStrategy
from transformers import GPTNeoXForCausalLM, GPTNeoXConfig
from torch.utils.data import DataLoader
micro_batch_size = 4
def main():
    strategy = FSDPStrategy(auto_wrap_policy={Block}, activation_checkpointing_policy={Block}, state_dict_type="full", limit_all_gathers=True, cpu_offload=False)
    fabric = L.Fabric(devices=8, strategy=strategy, precision="bf16-true")
    fabric.launch()
    with fabric.init_module(empty_init=True):
        model = GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=50304, hidden_size=2048, num_hidden_layers=24, num_attention_heads=16, intermediate_size=8192))
    loader = DataLoader(ds, batch_size=micro_batch_size)
main()
