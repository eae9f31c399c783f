SIZES=hidden_size=2048,intermediate_size=5632,num_hidden_layers=22,num_attention_heads=32,num_key_value_heads=4,vocab_size=50256
torchrun --nproc_per_node 8 run_clm.py --model_type llama --config_overrides $SIZES,tie_word_embeddings=true \
  --block_size 2048 --per_device_train_batch_size 8 --gradient_accumulation_steps 4 --bf16
