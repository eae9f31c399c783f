#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
launch="accelerate launch --config_file $FILE --main_process_ip $HOSTNAME"
words="run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --block_size 4096"
case $BY in
  nothing) $launch $words ;;
  one) srun -N 1 -n 1 $launch $words ;;
  all) srun $launch --machine_rank $SLURM_NODEID $words ;;
  each)
    srun -N 1 -n 1 $launch --machine_rank 0 $words &
    srun -N 1 -n 1 $launch --machine_rank 1 $words &
    wait ;;
  named)
    for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
      srun -N 1 -n 1 -w "$host" $launch $words &
    done
    wait ;;
esac
