import os
from pathlib import Path
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
MODEL = os.environ.get("MODEL", "meta-llama/Llama-2-7b-hf")
BS = int(os.getenv("BATCH", "8"))
ACC = 64 // BS
ROOT = Path("/data") / "runs"
def main():
    seq = int(os.environ["SEQ"]) if "SEQ" in os.environ else 2048
    model = AutoModelForCausalLM.from_pretrained(MODEL)
    args = TrainingArguments(
        output_dir=str(ROOT / f"run-{BS}"),
        per_device_train_batch_size=BS,
        gradient_accumulation_steps=ACC,
        bf16=os.getenv("BF16", "1") == "1",
        gradient_checkpointing=bool(int(os.getenv("GC", "0"))),
    )
    Trainer(model=model, args=args).train()
if __name__ == "__main__":
    main()
