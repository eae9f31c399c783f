ARGS=$(yq '.MODEL_ARGS | to_entries' model.yaml)
python -u pretrain_gpt.py $ARGS
