uv run examples/run_grpo_math.py --config grpo.yaml policy.model_name=Qwen/Qwen2.5-7B
