#!/bin/bash
set_hosts() {
  export NHOSTS=$(sort -u "${PBS_NODEFILE}" | wc -l)
  export NGPU_PER_HOST=4
  export NGPUS=$(( NHOSTS * NGPU_PER_HOST ))
  awk '{print $1" slots=4"}' <(sort -u "$PBS_NODEFILE") > hostfile_ds
}
set_model() {
  case "$1" in
    7B) NLAYERS=32; HIDDEN=4096; HEADS=32; NUM_KV_HEAD=8; FFN=11008 ;;
    1B) NLAYERS=22; HIDDEN=2048; HEADS=32; NUM_KV_HEAD=4; FFN=5632 ;;
    *) echo "no such model"; return 1 ;;
  esac
}
make_ds() {
  cat > "$1" <<-JSON
	{ "train_batch_size": ${GLOBAL_BATCH}, "train_micro_batch_size_per_gpu": ${MICRO_BATCH},
	  "zero_optimization": {"stage": ${ZERO_STAGE}}, "bf16": {"enabled": true}, "gradient_clipping": 1.0 }
	JSON
}
